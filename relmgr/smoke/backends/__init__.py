"""What launches a kernel: `hip`, `cuda`, and `cpu` where there is no device. Each runs in a worker's process alone."""
