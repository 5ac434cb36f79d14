"""NVIDIA GPUs: discovery, libraries, health."""
