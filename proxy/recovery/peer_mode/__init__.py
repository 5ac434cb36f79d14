"""Replicas: which blocks ranks hold equal, and what follows from it for what is copied."""
