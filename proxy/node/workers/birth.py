"""When a process was started: with its number, what tells it from any other process.

Called by: processes.py. Source: proc(5).
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from ...common.complaints import scarce


def born(pid: int) -> str:
    """In the kernel's ticks since it booted; empty: it has ended, but has not been waited for. Raises
    ProcessLookupError when there is no such process, another OSError where that cannot be seen for now."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError as error:
        if scarce(error):  # of descriptors: that says nothing of the process
            raise
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH)) from None
    fields = text.rpartition(")")[2].split()  # its name, which may be anything, ends with the last parenthesis
    return "" if fields[0] in "ZX" else fields[19]


def lives(pid: int, when: str) -> bool:
    """Whether the process that was started then is still there, as far as can be seen."""
    try:
        return bool(when) and born(pid) == when
    except ProcessLookupError:
        return False
    except OSError:
        return True
