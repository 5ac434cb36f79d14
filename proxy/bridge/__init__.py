"""The bridge of a node: a process that joins the segments and boards of several nodes."""
