"""The control groups that a process is in, and those around them, of both kinds of the kernel's.

Called by: host_memory.py (limits of memory), commands/doctor (limits of processes), commands/support (all of them).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

CGROUPS, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def around(own: Path = OWN, groups: Path = CGROUPS) -> Iterator[tuple[str, Path]]:
    """Returns each group's controllers, separated by commas (none: a group of the second kind, which has all), and its
    folder, innermost first. own: the kernel's list for a process. Raises OSError."""
    for line in own.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        root = groups / controllers.removeprefix("name=")
        group = root / path.strip("/")
        while group.is_relative_to(root):
            yield controllers, group
            group = group.parent
