"""Visitors over ``interpose/spec``: C++ wrappers, op tables, version script, coverage table."""
