"""The CUDA runtime's functions by subject, and those that only CUDA 12 has."""
