"""Answers of the service on a terminal: tables, pictures that are drawn again, and recoveries as they end."""
