"""The options of a node service, each described once: `values.py` (what an option can take), `table.py` (the options)
and `generator.py` (what is made of them)."""
