"""A consumer's conditionals on a contract's number."""
