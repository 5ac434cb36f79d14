"""The gRPC services of the node service; nothing else lives here."""
