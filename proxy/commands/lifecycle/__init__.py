"""The life of a service: how it begins, ends, and follows another one, in the same process or not."""
