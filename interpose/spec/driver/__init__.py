"""The CUDA driver's functions by subject."""
