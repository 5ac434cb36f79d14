"""The part of the API of etcd that jitc calls, as generated from the .proto file beside it."""
