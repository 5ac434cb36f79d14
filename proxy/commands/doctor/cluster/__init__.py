"""Checks of the cluster in which this machine is to be a node: this node itself, the store, the other nodes."""
