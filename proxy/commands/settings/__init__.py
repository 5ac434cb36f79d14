"""The settings of a service: options of the command line, variables of the environment, and a file give them."""
