"""Read the world, return model objects, never write."""
