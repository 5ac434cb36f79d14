"""`make soak`: programs on a service that makes it hard for them, again and again; see README.md."""
