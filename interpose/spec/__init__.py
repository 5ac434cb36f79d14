"""The one description of the API surface and of the device ops, as plain Python data."""
