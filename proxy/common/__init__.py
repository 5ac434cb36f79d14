"""What every process of the node service stands on: gRPC channels, paths, state machines, the native executor."""
