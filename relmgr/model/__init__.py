"""Frozen nouns: what relmgr knows, with the JSON keys that other programs read."""
