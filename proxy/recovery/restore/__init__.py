"""Bringing memory to one boundary: which block holds the bytes, and how they travel."""
