"""The keeper: a small process that holds what must outlive the node service."""
