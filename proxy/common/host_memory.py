"""The node's available memory, and the kernel's kills of processes that need more. Called by: the service at
start (take_over.py), the software device, the supervisor (a worker was killed).

Promises: a control group's limit counts like the machine's, including a container's and those of the groups around it;
a limit that cannot be read does not count.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from jitc.ops.options.values import GIB, MIB

from . import control_groups

PROC, CGROUPS = Path("/proc"), control_groups.CGROUPS


class _Names(NamedTuple):
    """The names of a group's files, and of one field each in memory.stat and in the counters of killed processes."""

    limit: str
    used: str
    cached: str
    events: str


_SECOND = _Names("memory.max", "memory.current", "inactive_file", "memory.events")
_FIRST = _Names("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "memory.oom_control")


@dataclass(frozen=True)
class Limit:
    """The least limit of the control groups around this process."""

    bytes: int
    where: Path

    def text(self) -> str:
        return f"{size_text(self.bytes)}: {self.where}"


def available() -> int:
    """Returns the bytes that can be allocated without evicting anything; 0 if the kernel does not report it."""
    left = [one for one in (_of_machine(), *_of_groups()) if one is not None]
    return max(0, min(left, default=0))


def limit() -> Limit | None:
    """Returns the limit; None if no group has less than the machine."""
    machine = _field(PROC / "meminfo", "MemTotal:", 1024)
    limits = [
        Limit(most, group / names.limit)
        for names, group in _groups()
        if (most := _number(group / names.limit)) is not None and (machine is None or most < machine)
    ]
    return min(limits, key=lambda one: one.bytes, default=None)


def kills_file() -> Path:
    """Returns the file in which the kernel counts the processes that it killed for lack of memory: of this process's
    control group, otherwise of the machine."""
    for names, group in _groups():
        if kills(group / names.events) is not None:
            return group / names.events
    return PROC / "vmstat"


def kills(file: Path) -> int | None:
    return _field(file, "oom_kill", 1)


def size_text(bytes: int) -> str:
    return f"{bytes / GIB:.1f} GiB" if bytes >= GIB else f"{bytes // MIB} MiB"


def _of_machine() -> int | None:
    return _field(PROC / "meminfo", "MemAvailable:", 1024)


def _of_groups() -> list[int]:
    """Reads a value of the control group that this process is in, and of those around it."""
    found = []
    for names, group in _groups():
        # Pages of files that nobody uses give way to others.
        most, used = _number(group / names.limit), _number(group / names.used)
        if most is not None and used is not None:
            found.append(most - used + (_field(group / "memory.stat", names.cached, 1) or 0))
    return found


def _groups() -> Iterator[tuple[_Names, Path]]:
    """Returns the control groups of this process that count memory, innermost first; those of both kinds."""
    with contextlib.suppress(OSError):
        for controllers, group in control_groups.around(PROC / "self" / "cgroup", CGROUPS):
            if controllers == "" or "memory" in controllers.split(","):
                yield _SECOND if controllers == "" else _FIRST, group


def _number(path: Path) -> int | None:
    """Reads a number. None also for "max"."""
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
