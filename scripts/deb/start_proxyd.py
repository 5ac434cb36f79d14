"""The command `jitc-proxyd` of the Debian package.

Called by: /usr/bin/jitc-proxyd and trees.py, with the Python of this version's folder.
"""

import sys

if __name__ == "__main__":
    from jitc.proxy.commands.entry import jitc_proxyd

    sys.exit(jitc_proxyd())
