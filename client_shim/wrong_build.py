"""Ends a program whose native part of jitc belongs to another PyTorch: one line, no traceback.

Called by: torch_device.py, when the program first uses CUDA, and at the start of torchrun. Promise: of the ranks of a
launcher, and of the processes that a program starts in parallel, one prints it. All end with exit status 1.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from typing import NoReturn

STATUS = 1
_claimed: list[socket.socket] = []


def stop(reason: str) -> NoReturn:
    """Raises SystemExit in the main thread, which ends the process without a traceback, and RuntimeError in others,
    where SystemExit would end only the thread."""
    if _speaks_for_the_others():
        print(f"jitc: {reason}", file=sys.stderr, flush=True)
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError(f"jitc: {reason}")
    raise SystemExit(STATUS)


def _speaks_for_the_others() -> bool:
    """Returns whether this process prints the line: local rank 0, or the first child of its parent that gets here."""
    rank = os.environ.get("LOCAL_RANK", "")
    if rank.isdecimal():
        return int(rank) == 0
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        # An abstract name goes with the process, so nothing is left behind.
        claim.bind(f"\0jitc-wrong-build-{os.getuid()}-{os.getppid()}")
    except OSError:
        claim.close()
        return False
    _claimed.append(claim)
    return True
