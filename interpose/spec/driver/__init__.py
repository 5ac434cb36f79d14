"""The CUDA driver's functions, by what they are about."""
