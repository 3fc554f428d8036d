"""The smoke kernels: one portable source, the problem they solve, a float64 reference, and the judge."""
