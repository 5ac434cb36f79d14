"""Training programs at random from a grammar, with what happens to them; see README.md."""
