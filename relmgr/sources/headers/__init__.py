"""C headers, read without a compiler."""
