"""Attribution of a killed worker's end to the kernel, for lack of memory.

Called by: the supervisor, for each worker that begins and ends. The kernel does not say which process it has ended; it
counts them, in their control group or on the machine, before it ends them. Promises: each count explains one worker's
end; ends of other processes explain none that comes later than two rounds (ROUND_SECONDS).
"""

from __future__ import annotations

import threading
from pathlib import Path

from ...common import host_memory
from ...common.rounds import Rounds

#: Time between rounds: a process with much memory may take a while to end.
ROUND_SECONDS = 30.0


class MemoryKills(Rounds):
    """The kernel's counts, by the file that counts."""

    def __init__(self) -> None:
        super().__init__("jitc-memory-kills", ROUND_SECONDS, self.round)
        self._lock = threading.Lock()
        self._files: dict[int, Path] = {}  # file of each worker, by process
        self._explained: dict[Path, int] = {}  # kills that have explained a worker's end, or are too old to do so
        self._before: dict[Path, int] = {}  # kills at the last round

    def begin(self, worker: int, file: Path) -> None:
        """Begins to watch this worker's count, which is in the file, as the worker says."""
        with self._lock:
            self._files[worker] = file
            count = host_memory.kills(file) or 0
            self._explained.setdefault(file, count)
            self._before.setdefault(file, count)

    def explains(self, worker: int, killed: bool) -> str:
        """Returns why this worker has ended, as a text; empty if it was not for lack of memory. killed: by a signal
        that is not jitc's. Called once for each worker."""
        with self._lock:
            file = self._files.pop(worker, None)
            if file is None or not killed or (host_memory.kills(file) or 0) <= self._explained[file]:
                return ""
            self._explained[file] += 1
        most = host_memory.limit()
        room = f"its control group may have {most.text()}" if most else "the machine has no more"
        return f"the kernel has ended worker {worker}, for want of memory ({room})"

    def round(self) -> None:
        with self._lock:
            used = set(self._files.values())
            for file in list(self._before):
                if file not in used:
                    del self._before[file], self._explained[file]
                    continue
                self._explained[file] = max(self._explained[file], self._before[file])
                self._before[file] = host_memory.kills(file) or 0
