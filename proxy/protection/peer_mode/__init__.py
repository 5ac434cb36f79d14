"""Replicas: finds the blocks that are equal on several ranks, which therefore need no copies."""
