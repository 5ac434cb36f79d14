"""Helpers that tests share: a private service, training jobs, their records, and leak checks.

Tests import from here and never from each other.
"""
