"""Pull requests as clones tell them."""
