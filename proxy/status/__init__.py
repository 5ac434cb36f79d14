"""What the service says of itself, described once: the documents that users script against."""
