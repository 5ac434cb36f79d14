"""Ranks that make no progress though they have work, found by how long they usually take."""
