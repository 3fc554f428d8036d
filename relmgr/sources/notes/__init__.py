"""What release notes are made of."""
