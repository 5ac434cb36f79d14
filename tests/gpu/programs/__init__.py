"""Programs that the steps run, with and without the proxy: like a user's program, they do not know if it is there.

Importing this package ties the process to the one that started it, so that none is left behind.
"""

from __future__ import annotations

import os
from typing import TextIO

from ..children import die_with_parent

die_with_parent()


def answers() -> TextIO:
    """Where a program's answers go; what else it, or a library, prints on standard output goes to the log."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return out
