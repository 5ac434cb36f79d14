"""Shares of the service's descriptors (`ulimit -n`): what one program may have leaves enough for all others.

Called by: communicators (each takes one, here and in the keeper), the registry (a session takes a dozen), and the code
that gives a GPU a worker. Promises: a program can have as many communicators as descriptors are left for those of
others, so that another one always finds room; a quarter of all descriptors is for sessions and their recoveries, and so
are places at the keeper.
"""

from __future__ import annotations

import contextlib
import os
import resource
import threading
import time

from ..common.config import SLOTS
from ..keeper.process.shelf import KEPT

#: Descriptors of a session, with its worker; and those of them that the keeper holds.
SESSION, PIECES = 16, 8
#: Descriptors needed to reach another process, and seconds between tries.
SOME, LOOK_SECONDS = 6, 0.05
_never = threading.Event()
#: Descriptors if there is no limit.
ENDLESS = 1 << 20


def limit() -> int:
    """Returns how many descriptors this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return ENDLESS if soft == resource.RLIM_INFINITY else soft


def for_communicators() -> int:
    """Returns how many descriptors the communicators of all programs may take together: whatever the limit is, the
    keeper has places left for what sessions need."""
    return min(limit() // 2, KEPT - SLOTS * PIECES)


def advice_on_communicators() -> str:
    """Returns what bounds communicators, and what to do: the end of a text in parentheses."""
    if for_communicators() < limit() // 2:
        return f"jitc-keeper has {KEPT} places): destroy some"
    return f"ulimit -n {limit()}): destroy some, or start it with more"


def room_for_session() -> bool:
    """Returns whether another session leaves enough for the recovery of the existing ones."""
    try:
        used = len(os.listdir("/proc/self/fd"))
    except OSError:
        return False
    return used + SESSION <= limit() - max(SESSION, limit() // 8)


def wait_for_some(seconds: float) -> bool:
    """Waits until there are enough to reach another process. Without them all other processes would seem to be dead."""
    deadline = time.monotonic() + seconds
    while not _some():
        if time.monotonic() > deadline:
            return False
        _never.wait(LOOK_SECONDS)
    return True


def _some() -> bool:
    had: list[int] = []
    try:
        while len(had) < SOME:
            had += os.pipe2(os.O_CLOEXEC)
    except OSError:
        return False
    finally:
        for one in had:
            with contextlib.suppress(OSError):
                os.close(one)
    return True
