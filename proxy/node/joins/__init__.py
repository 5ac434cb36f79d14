"""Communicators: who joins them, who is missing, and what happens when ranks end or release them."""
