"""The tenants of the service: each user's part of it."""
