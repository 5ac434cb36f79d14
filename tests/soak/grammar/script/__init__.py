"""The program that a rank runs: an ordinary one of PyTorch, which knows nothing of the proxy; see README.md."""
