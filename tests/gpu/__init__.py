"""The check on a real GPU: what it is, and how it is carried to a machine, is in README.md."""
