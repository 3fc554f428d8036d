"""GitHub, read through one door."""
