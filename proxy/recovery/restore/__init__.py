"""Restoring of memory to one boundary: which block has the bytes, and how they travel."""
