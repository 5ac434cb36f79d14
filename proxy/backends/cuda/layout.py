"""Has the kernel lay out the memory of workers at the same place each time.

Called by: proxyd.py, before it starts a thread. The driver places what it chooses itself, such as device variables,
relative to the process's own mappings. A new worker can only find them where the lost one had them if the kernel does
not move those mappings at random (docs/decisions.md, 22).
"""

from __future__ import annotations

import ctypes

_ADDR_NO_RANDOMIZE = 0x0040000
_QUERY = 0xFFFFFFFF


def fix_layout() -> bool:
    """Applies to every process that this thread, or a thread made by it, starts from now on; this process stays as it
    is.

    Returns False when the kernel, or the sandbox, forbids it (Docker's default seccomp profile).
    """
    personality = ctypes.CDLL(None, use_errno=True).personality
    personality.argtypes = [ctypes.c_ulong]
    now: int = personality(_QUERY)
    return now != -1 and bool(personality(now | _ADDR_NO_RANDOMIZE) != -1)
