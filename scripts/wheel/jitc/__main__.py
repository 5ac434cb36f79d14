"""`python -m jitc`: the `jitc` command. Called by: Python."""

import sys

from jitc.proxy.commands.entry import jitc

if __name__ == "__main__":
    sys.exit(jitc())
