"""The store that the nodes of a cluster share, and its engines."""
