"""The store that the nodes of a cluster share. See README.md."""
