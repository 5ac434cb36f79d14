"""Code that all processes of the node service share: gRPC channels, paths, state machines, the native executor."""
