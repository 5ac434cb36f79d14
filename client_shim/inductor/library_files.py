"""Compiled kernels on disk, in Inductor's cache: checks that a library is unchanged since the compiler wrote it.

Called by: host_kernels.py. Promises: a library that was changed or truncated since is found before a worker has it, and
removed, so that it is compiled again; one that was compiled for another processor is not used for this one.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from pathlib import Path

from jitc.client_shim.inductor.refusals import CannotCompile

_DAMAGED = (
    "jitc: the compiled kernel {} is not what the compiler wrote; it has been removed, and the next run of the program "
    "compiles it again"
)


def check(path: Path) -> None:
    """Checks a library. The first check, right after it was compiled, stores its hash beside it."""
    known = path.with_name(path.name + ".jitc-sha256")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    try:
        wanted = known.read_text()
    except FileNotFoundError:
        part = known.with_name(f"{known.name}.{os.getpid()}")
        part.write_text(found)
        part.replace(known)  # whole or not at all
        return
    if found != wanted:
        path.unlink(missing_ok=True)
        known.unlink(missing_ok=True)
        raise CannotCompile(_DAMAGED.format(path))


@functools.cache
def processor() -> str:
    """Returns the features that the compiler finds in this machine's processor, as a hash: a folder may serve several
    machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    told = sorted({line for line in lines if line.startswith(("flags", "Features", "model name", "CPU part"))})
    return hashlib.sha256("\n".join([platform.machine(), *told]).encode()).hexdigest()[:16]
