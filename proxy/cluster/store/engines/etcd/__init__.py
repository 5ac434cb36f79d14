"""The engine that reaches etcd. See ../../README.md."""
