"""Monitors workers, ranks and GPUs, and finds the cause if one is not healthy. See README.md."""
