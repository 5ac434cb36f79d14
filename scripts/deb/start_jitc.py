"""The command `jitc` of the Debian package.

Called by: /usr/bin/jitc, with the Python of this version's folder. Promise: a program that `jitc run` starts finds
package jitc of this version, whatever its Python has, and no other package of this folder.
"""

import os
import sys
from pathlib import Path

PACKAGES = str(Path(__file__).resolve().parents[1] / "packages")

if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        before = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = f"{PACKAGES}:{before}" if before else PACKAGES
    from jitc.proxy.commands.entry import jitc

    sys.exit(jitc())
