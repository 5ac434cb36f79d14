"""The start time of a process, which with its number distinguishes it from any other process.

Called by: processes.py. Source: proc(5).
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from ...common.complaints import scarce


def born(pid: int) -> str:
    """Returns the start, in the kernel's ticks since boot; empty: the process has ended, but has not been waited for.
    Raises ProcessLookupError when there is no such process, another OSError if that cannot be seen for now."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError as error:
        if scarce(error):  # descriptors are scarce, which says nothing of the process
            raise
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH)) from None
    fields = text.rpartition(")")[2].split()  # the process's name, which may be anything, ends with the last ")"
    return "" if fields[0] in "ZX" else fields[19]


def lives(pid: int, when: str) -> bool:
    """Returns whether the process that was started then still exists, as far as can be seen."""
    try:
        return bool(when) and born(pid) == when
    except ProcessLookupError:
        return False
    except OSError:
        return True
