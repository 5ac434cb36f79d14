"""The privileges that several users' service and keeper need, and that its keeper gives up.

Called by: jitc-proxyd (lacking), the keeper, when the service says that others are admitted (give_up). Promise: what a
keeper has given up neither it nor a worker gets back, by a set-uid program either.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

#: Linux's numbers: to remove what lies in users' folders, to signal their processes, and to start these.
_OF_KEEPER = {"CAP_DAC_OVERRIDE": 1, "CAP_KILL": 5, "CAP_SETGID": 6, "CAP_SETUID": 7}
#: The service gives memory and folders to users, and the keeper's are its own.
_OF_SERVICE = {"CAP_CHOWN": 0} | _OF_KEEPER
NEEDED = tuple(_OF_KEEPER.values())
_NO_NEW_PRIVILEGES, _DROP_BOUND, _AMBIENT, _CLEAR_ALL = 38, 24, 47, 4
#: _LINUX_CAPABILITY_VERSION_3, whose sets have two words.
_VERSION = 0x20080522
_LAST = Path("/proc/sys/kernel/cap_last_cap")


def lacking() -> list[str]:
    """Returns the names of the capabilities that this process needs for other users, and lacks."""
    has = _permitted(ctypes.CDLL(None, use_errno=True))
    return [name for name, number in _OF_SERVICE.items() if not has >> number & 1]


def give_up() -> None:
    """Gives up everything that a keeper does not need, if this is root's process. Raises OSError."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    _call(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    for one in range(_last() + 1):
        if one not in NEEDED:
            libc.prctl(_DROP_BOUND, one, 0, 0, 0)  # refused where a container has bounded it already
    libc.prctl(_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    kept = sum(1 << one for one in NEEDED) & _permitted(libc)
    header = (ctypes.c_uint32 * 2)(_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)(kept, kept, 0, 0, 0, 0)  # effective, permitted, inheritable; then those from 32 on
    _call(libc.capset(header, sets))


def _permitted(libc: ctypes.CDLL) -> int:
    header, sets = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()
    _call(libc.capget(header, sets))
    return int(sets[1])


def _last() -> int:
    try:
        return int(_LAST.read_text())
    except (OSError, ValueError):
        return 63


def _call(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), f"capabilities: {os.strerror(ctypes.get_errno())}")
