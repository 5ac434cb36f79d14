"""Tests whether a minibatch that is run again gives the same results, and bounds their differences."""
