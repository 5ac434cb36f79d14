"""How the service's descriptors (`ulimit -n`) are shared out: what one program may have leaves enough for all others.

Called by: communicators (each takes one, here and in the keeper), the registry (a session takes a dozen), who gives a
GPU a worker. Promises: a program can have as many communicators as descriptors are left for those of others, so that,
whatever it does, another one finds room; a quarter of all descriptors is for sessions and their recoveries, and so are
places at the keeper.
"""

from __future__ import annotations

import contextlib
import os
import resource
import threading
import time

from ..common.config import SLOTS
from ..keeper.server import KEPT

#: Of a session, with its worker; and of these, what the keeper holds.
SESSION, PIECES = 16, 8
#: What it takes to reach another process, and how often that is tried.
SOME, LOOK_SECONDS = 6, 0.05
_never = threading.Event()
#: Where there is no limit.
ENDLESS = 1 << 20


def limit() -> int:
    """Descriptors that this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return ENDLESS if soft == resource.RLIM_INFINITY else soft


def for_communicators() -> int:
    """Descriptors that the communicators of all programs may take together: whatever the limit is, the keeper has
    places left for what sessions need."""
    return min(limit() // 2, KEPT - SLOTS * PIECES)


def advice_on_communicators() -> str:
    """What bounds them, and what to do: the end of a text in parentheses."""
    if for_communicators() < limit() // 2:
        return f"jitc-keeper has {KEPT} places): destroy some"
    return f"ulimit -n {limit()}): destroy some, or start it with more"


def room_for_session() -> bool:
    """Whether another session leaves enough for the recovery of those that are there."""
    try:
        used = len(os.listdir("/proc/self/fd"))
    except OSError:
        return False
    return used + SESSION <= limit() - max(SESSION, limit() // 8)


def wait_for_some(seconds: float) -> bool:
    """Waits until there are enough to reach another process. Without them all others would seem to be dead."""
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
