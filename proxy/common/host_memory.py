"""How much of the node's memory can be had. Called by: the service at start (take_over.py).

Promises: a control group's limit counts as the machine's, that of a container too; what cannot be read does not count.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def available() -> int:
    """Bytes that can be taken without pushing anything out; 0 where the kernel does not say."""
    left = [one for one in (_of_machine(), *_of_groups()) if one is not None]
    return max(0, min(left, default=0))


def _of_machine() -> int | None:
    return _field(PROC / "meminfo", "MemAvailable:", 1024)


def _of_groups() -> list[int]:
    """Of the control group that this process is in, and of those around it."""
    try:
        lines = (PROC / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return []
    found: list[int] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            found += _up(CGROUPS, path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
            found += _up(CGROUPS / "memory", path, *names)
    return found


def _up(root: Path, path: str, most: str, used: str, cached: str) -> list[int]:
    found = []
    group = root / path.strip("/")
    while group.is_relative_to(root):
        # Pages of files that nobody uses give way to others.
        limit, usage = _number(group / most), _number(group / used)
        if limit is not None and usage is not None:
            found.append(limit - usage + (_field(group / "memory.stat", cached, 1) or 0))
        group = group.parent
    return found


def _number(path: Path) -> int | None:
    """None also for "max"."""
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text())
    return None


def _field(path: Path, name: str, unit: int) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        for line in path.read_text().splitlines():
            words = line.split()
            if len(words) > 1 and words[0] == name:
                return int(words[1]) * unit
    return None
