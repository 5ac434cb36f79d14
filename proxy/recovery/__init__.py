"""Recovery: one coordinator per node, one recovery per job at a time, explicit states. See README.md."""
