"""The device ops: the one description of what travels between client and worker. Imports nothing of jitc."""
