"""What a consumer pins, how that changed, and how it is moved."""
