"""PyTorch's own tests on the software device; see README.md."""
