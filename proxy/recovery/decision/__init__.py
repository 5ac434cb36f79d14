"""Where a recovery takes each rank. Pure."""
