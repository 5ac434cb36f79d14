"""The functions of cuDNN by subject."""
