"""The functions of cuDNN, by what they are about."""
