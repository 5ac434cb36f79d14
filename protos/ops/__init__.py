"""The device ops, the one description of what travels between client and worker; imports nothing of jitc."""
