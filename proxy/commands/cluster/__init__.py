"""`jitc cluster`: certificates with which the services of several nodes know each other."""
