"""`make soak`: programs under hostile options, again and again."""
