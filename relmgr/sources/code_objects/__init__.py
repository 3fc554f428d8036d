"""Files that hold device code."""
