"""The one description of the API surface, as plain Python data."""
