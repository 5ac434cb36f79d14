"""The two ways in which processes get the same memory layout: by the kernel's leave, and by reserving what lies above.

As workers have them (proxy/backends/cuda/layout.py, proxy/worker/layout.py), which cannot be imported here: the probes
run where jitc cannot be loaded.
"""

from __future__ import annotations

import ctypes
import itertools
from pathlib import Path

_ADDR_NO_RANDOMIZE, _QUERY = 0x0040000, 0xFFFFFFFF
_FLOOR, _END = 0x6E00_0000_0000, 1 << 47
#: MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE, MAP_FIXED_NOREPLACE.
_RESERVED = 0x2 | 0x20 | 0x4000 | 0x100000


def fix_layout() -> None:
    """Counts for the processes that are started from now on. Raises OSError."""
    personality = ctypes.CDLL(None, use_errno=True).personality
    personality.argtypes = [ctypes.c_ulong]
    now = personality(_QUERY)
    if now == -1 or personality(now | _ADDR_NO_RANDOMIZE) == -1:
        raise OSError(ctypes.get_errno(), "personality is refused")


def reserve_layout() -> None:
    """Counts for this process, from now on. Raises OSError."""
    ranges = [line.split()[0].split("-") for line in Path("/proc/self/maps").read_text().splitlines()]
    mappings = [(int(start, 16), int(end, 16)) for start, end in ranges if int(start, 16) < _END]
    gaps = [(end, start) for (_, end), (start, _) in itertools.pairwise(mappings)]
    _, lowest = max(gaps, key=lambda gap: gap[1] - gap[0])
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    if lowest <= _FLOOR or library.mmap(_FLOOR, lowest - _FLOOR, 0, _RESERVED, -1, 0) == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "the addresses cannot be reserved")
