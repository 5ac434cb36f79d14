"""The CUDA runtime's functions, by what they are about, and what only CUDA 12 has."""
