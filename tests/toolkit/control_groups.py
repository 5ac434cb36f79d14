"""A control group of the kernel's whose memory is limited, as a container's is."""

from __future__ import annotations

import contextlib
import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

from .waiting import until

_ROOT = Path("/sys/fs/cgroup")
_GONE_SECONDS = 10.0


class ControlGroup:
    """Of either kind of the kernel's interface."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        first = (folder / "memory.limit_in_bytes").exists()
        self.limit_file = folder / ("memory.limit_in_bytes" if first else "memory.max")
        self._used = folder / ("memory.usage_in_bytes" if first else "memory.current")
        self._events = folder / ("memory.oom_control" if first else "memory.events")

    def before(self) -> tuple[str, ...]:
        """Words before a command that shall be in it, with all that it starts."""
        return "sh", "-c", f'echo 0 > {self.folder}/cgroup.procs && exec "$@"', "sh"

    def limit(self, bytes: int) -> None:
        self.limit_file.write_text(str(bytes))

    def used(self) -> int:
        return int(self._used.read_text())

    def kills(self) -> int:
        """Processes that the kernel has ended for want of memory."""
        words = self._events.read_text().split()
        return int(words[words.index("oom_kill") + 1])


@contextlib.contextmanager
def control_group() -> Iterator[ControlGroup | None]:
    """None where this user may not make one."""
    folder = _make()
    try:
        yield ControlGroup(folder) if folder else None
    finally:
        if folder:
            until(lambda: _remove(folder), _GONE_SECONDS, f"{folder} is empty")


def _make() -> Path | None:
    for parent in (_ROOT / "memory", _ROOT):
        folder = parent / f"jitc-test-{uuid.uuid4().hex[:8]}"
        if parent == _ROOT and not (parent / "cgroup.controllers").exists():
            continue
        try:
            folder.mkdir()
        except OSError:
            continue
        with contextlib.suppress(OSError, ValueError):
            words = ControlGroup(folder).before()
            if ControlGroup(folder).kills() == 0 and subprocess.run([*words, "true"], check=False).returncode == 0:
                return folder
        folder.rmdir()
    return None


def _remove(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        os.rmdir(folder)
    return not folder.exists()
