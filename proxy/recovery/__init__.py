"""Recovery: one coordinator per node, one recovery at a time, explicit states. See README in proxy/."""
