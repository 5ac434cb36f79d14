"""Defects put into the product, one at a time: `make mutants` shows that the tests notice each of them."""
