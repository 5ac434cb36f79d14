"""The intercept library: specification, generator and the C++ that runs in the training process."""
