"""Write the world: files, git, GitHub, databases."""
