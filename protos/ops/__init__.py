"""The device ops: the single description of what client and worker exchange. Imports nothing of jitc."""
