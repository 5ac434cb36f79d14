"""The keeper's process: what it holds, and whom it answers."""
