"""Where the kernel lays out the memory of processes: at the same place each time, for workers.

Called by: proxyd.py, before it starts a thread. The driver places what it chooses itself, such as device variables,
relative to the process's own mappings. A new worker has a chance to find them where the lost one had them only if the
kernel does not move those mappings at random (docs/decisions.md, 22).
"""

from __future__ import annotations

import ctypes

_ADDR_NO_RANDOMIZE = 0x0040000
_QUERY = 0xFFFFFFFF


def fix_layout() -> bool:
    """For every process that this thread, or one made by it, starts from now on; this process stays as it is.

    False: the kernel, or the sandbox, does not allow it (Docker's default seccomp profile).
    """
    personality = ctypes.CDLL(None, use_errno=True).personality
    personality.argtypes = [ctypes.c_ulong]
    now: int = personality(_QUERY)
    return now != -1 and bool(personality(now | _ADDR_NO_RANDOMIZE) != -1)
