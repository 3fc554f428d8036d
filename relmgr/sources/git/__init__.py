"""Local clones, read as they are."""
