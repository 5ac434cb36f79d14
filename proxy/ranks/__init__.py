"""The service's common knowledge of ranks, wherever those run. See README.md."""
