"""Programs built on third-party libraries, run with and without faults; see README.md."""
