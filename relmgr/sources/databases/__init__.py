"""Kernel, find and perf databases: in folders, caches and git."""
