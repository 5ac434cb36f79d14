"""What a device reports of itself, and the error numbers of all libraries."""
