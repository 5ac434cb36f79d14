"""Engines: each reaches one kind of store. See ../README.md."""
