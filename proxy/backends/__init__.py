"""What a back end needs on the Python side (discovery, properties)."""
