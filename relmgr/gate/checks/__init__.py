"""The shipped checks, one module per topic. Each is a pure function of a snapshot and its parameters."""
