"""Work done before a fault, so that a recovery can restore everything. See README.md."""
