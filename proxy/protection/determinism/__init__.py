"""Whether a minibatch that is run again gives the same results, and how far they may differ."""
