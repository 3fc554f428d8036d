"""Smoke kernels: build them under an ABI, launch them in children, judge what came back."""
