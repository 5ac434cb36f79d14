"""The gRPC contract, as generated from the .proto files beside it."""
