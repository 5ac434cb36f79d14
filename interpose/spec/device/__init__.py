"""The properties that a device reports, and the error numbers of all libraries."""
