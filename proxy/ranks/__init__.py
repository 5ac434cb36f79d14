"""What all parts of the service know of ranks, wherever those run. See README.md."""
