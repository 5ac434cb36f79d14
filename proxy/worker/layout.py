"""Has the memory of every worker begin at the same place, also where the sandbox lets no process choose that.

Called by: __main__.py, before the first thread and the device's libraries, for devices whose driver places what it
chooses itself relative to the process's own mappings (docs/decisions.md, 22). The service asks the kernel not to lay
out its children at random. Containers forbid that as a rule (personality(2), in the profiles of Docker, podman and
Kubernetes); then the worker reserves all addresses from FLOOR up to its lowest mapping, so that what it maps from now
on lies below FLOOR, as in any other worker.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import platform
from pathlib import Path

#: Below what the kernel chooses at random for mappings (at most 32 bits of pages below the stack), and above programs,
#: their heaps, and the addresses of sessions (../common/config.py).
FLOOR, _END = 0x6E00_0000_0000, 1 << 47
_ADDR_NO_RANDOMIZE, _QUERY = 0x0040000, 0xFFFFFFFF
#: PROT_NONE; MAP_NORESERVE and MAP_FIXED_NOREPLACE are not in every Python's mmap.
_NOTHING, _RESERVED = 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000 | 0x100000
#: Gaps between libraries are smaller; that below the stack, in which it grows, is not.
_HOLE = 64 << 20
_FAILED = ctypes.c_void_p(-1).value


def fix_layout() -> str:
    """Returns why what this process maps from now on may lie anywhere; empty: it lies as in any other worker."""
    library = ctypes.CDLL(None, use_errno=True)
    now = library.personality(ctypes.c_ulong(_QUERY))
    if now != -1 and now & _ADDR_NO_RANDOMIZE:
        return ""
    if platform.machine() != "x86_64":
        return f"the addresses of processes are not known on {platform.machine()}"
    mappings = _mappings()
    gaps = [(end, start) for (_, end), (start, _) in itertools.pairwise(mappings)]
    heap, lowest = max(gaps, key=lambda gap: gap[1] - gap[0])  # between the program's heap and what is placed above it
    if heap > FLOOR or lowest <= FLOOR:
        return "mappings begin at the bottom (ulimit -s unlimited)"
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    holes = [(end, start) for end, start in gaps if end >= lowest and start - end < _HOLE]
    for begin, end in [(FLOOR, lowest), *holes]:
        if end > begin and library.mmap(begin, end - begin, _NOTHING, _RESERVED, -1, 0) == _FAILED:
            return f"{(lowest - FLOOR) >> 40} TiB of addresses cannot be reserved (ulimit -v)"
    return ""


def _mappings() -> list[tuple[int, int]]:
    """Returns where mappings begin and end, without the kernel's own."""
    ranges = [line.split()[0].split("-") for line in Path("/proc/self/maps").read_text().splitlines()]
    return [(int(start, 16), int(end, 16)) for start, end in ranges if int(start, 16) < _END]
