"""Where the check lies on this machine, and how to say nothing of it.

Called by: lab.py, which starts its programs from there; evidence.py, results.py. Pure.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
#: The carried folder, or the sources: gpu lies in tests/ there.
ROOT = PACKAGE.parent if (PACKAGE.parent / "jitc").is_dir() else PACKAGE.parent.parent
_NAMES = {str(ROOT): b"jitc", sys.prefix: b"python"}


def without_places(content: bytes) -> bytes:
    """Without the folders of the check and of its Python."""
    for place in sorted(_NAMES, key=len, reverse=True):  # one may lie in the other
        content = content.replace(os.fsencode(place) + b"/", _NAMES[place] + b"/")
    return content
