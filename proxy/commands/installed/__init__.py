"""Commands about what is installed here: its versions, and the native part for its PyTorch."""
