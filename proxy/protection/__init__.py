"""What is done before a fault, so that a recovery can bring everything back. See README.md."""
