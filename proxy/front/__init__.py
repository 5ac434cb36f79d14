"""The front of a service that programs of several users share: who is there, who may come in, and where to."""
