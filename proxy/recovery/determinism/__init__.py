"""Whether a minibatch that is run again gives the same, and how far it may differ."""
