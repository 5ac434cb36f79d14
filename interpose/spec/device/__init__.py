"""What a device says of itself, and the error numbers of all libraries."""
