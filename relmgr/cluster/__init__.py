"""Run independent jobs, each a command line, on this machine or on a Slurm cluster."""
