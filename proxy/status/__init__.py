"""The service's documents, described once; users script against them."""
