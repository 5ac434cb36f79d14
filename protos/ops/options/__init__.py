"""The options of a node service, each described once: `values.py` (kinds of values), `table.py` (the options) and
`generator.py` (the files generated from them)."""
