"""Ranks of jobs over nodes: seen by the node that leads a job, served by the nodes where they run. See README.md."""
