"""The home's side: what a node tells the leaders of its sessions' jobs, and does for them."""
