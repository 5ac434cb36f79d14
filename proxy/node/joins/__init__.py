"""Communicators: who joins them, who is missing, and what becomes of them when ranks end or let go."""
