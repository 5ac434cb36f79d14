"""The claim on a socket: who serves it, and its private folder."""
