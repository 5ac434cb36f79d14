"""The keeper: what must outlive the node service, in a small process of its own."""
