"""The node service (jitc-proxyd): sessions, shared memory, supervision of workers, the gRPC services."""
