"""Which native part of jitc serves the PyTorch that is here, and how one is made where none does (README.md)."""
