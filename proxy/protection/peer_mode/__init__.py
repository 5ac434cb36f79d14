"""Replicas: which blocks ranks hold equal, and which blocks therefore need no copies."""
