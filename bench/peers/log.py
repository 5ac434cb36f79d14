"""What the log of one run says: steps, processes, weights; and how its fault went.

Promises: nothing is told that is not in the log, which the programs write (programs/training.py). A line has the time,
the rank, the process, and "start", "step" with its number and its loss, or "done" with the hash of what was trained.
Called by: run.py, __main__.py; tests/unit/test_peers_table.py.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

#: First steps that do not count: memory is new, and jitc finds out what it can rely on.
SKIP = 15
#: What a launcher says of a rank's end, or of its own.
LAUNCHERS = ("ChildFailedError", "SignalException")
_FRAME = re.compile(r'\s*File ".*?([^/"]+)", line \d+, in (\w+)')
_ERROR = re.compile(r"(?:[\w.]+\.)?(\w+(?:Error|Exception))\b")


@dataclass
class Seen:
    """Of the log of one run."""

    steps: dict[tuple[int, int], list[float]] = field(default_factory=dict)  # (rank, step) -> when it was done
    starts: list[tuple[float, int, int]] = field(default_factory=list)  # when, rank, process
    hashes: dict[int, str] = field(default_factory=dict)  # process -> what it had trained

    @property
    def done(self) -> bool:
        return len(self.hashes) > 0

    def process(self, rank: int) -> int:
        """The newest."""
        return max((when, pid) for when, one, pid in self.starts if one == rank)[1]


@dataclass(frozen=True)
class Fault:
    """How a run with a fault went."""

    step_s: float | None  # median before the fault
    first_new_s: float | None  # from the kill to a step, of any rank, that had not been done before it
    begun_s: float | None  # from the kill to a program that begins again
    back_to: int | None  # the first step that was done again; None: none was
    again: int  # batches that were computed more than once
    dropped: int  # batches that are no part of what was trained
    started: tuple[int, ...]  # processes of each rank
    ended: tuple[int, ...]  # processes that were not killed and ended before the work was done: their ranks
    outcome: str  # "identical", "differ", "did not finish"
    why: str = ""  # the last error, where a process ended or the job did not finish


def read(text: str) -> Seen:
    seen = Seen()
    for line in text.splitlines():
        when, rank, pid, what, value = line.split()[:5]
        if what == "start":
            seen.starts.append((float(when), int(rank), int(pid)))
        elif what == "step":
            seen.steps.setdefault((int(rank), int(value)), []).append(float(when))
        else:
            seen.hashes[int(pid)] = value
    return seen


def step_time(seen: Seen, until: float = float("inf")) -> float | None:
    """Median of rank 0, from step SKIP on, of steps that were over by then; None: it did not get there."""
    times = [times[0] for (rank, step), times in sorted(seen.steps.items()) if rank == 0 and step >= SKIP]
    whole = [later - earlier for earlier, later in pairwise(times) if later <= until]
    return statistics.median(whole) if whole else None


def judged(seen: Seen, healthy: Seen, killed: tuple[float, int], wanted: set[tuple[int, int]], output: str) -> Fault:
    """killed: when, and the process (0: none of the ranks'). wanted: (rank, step) of all batches."""
    when, victim = killed
    before = max((step for (_, step), times in seen.steps.items() if min(times) <= when), default=-1)
    new = [min(times) for (_, step), times in seen.steps.items() if step > before]
    twice = [step for (_, step), times in seen.steps.items() if len(times) > 1]
    begun = [start for start, _, _ in seen.starts if start > when]
    processes = {(rank, pid) for _, rank, pid in seen.starts}
    ended = tuple(sorted(rank for rank, pid in processes if pid != victim and pid not in seen.hashes))
    counts = Counter(rank for rank, _ in processes)
    hashes = set(seen.hashes.values())
    same = len(hashes) == 1 and hashes == set(healthy.hashes.values())
    return Fault(
        step_s=step_time(seen, when),
        first_new_s=min(new) - when if new else None,
        begun_s=min(begun) - when if begun else None,
        back_to=min(twice, default=None),
        again=sum(len(times) - 1 for times in seen.steps.values()),
        dropped=len(wanted - set(seen.steps)),
        started=tuple(counts[rank] for rank in sorted({rank for rank, _ in wanted})),
        ended=ended,
        outcome="identical" if same else "differ" if hashes else "did not finish",
        why=last_error(output) if ended or not hashes else "",
    )


def last_error(output: str) -> str:
    """Of the last Python error that is not a launcher's report of another: its name, and where it was raised."""
    frame, found = "", ""
    for line in output.splitlines():
        if place := _FRAME.match(line):
            frame = f"{place[2]}, {place[1]}"
        elif (error := _ERROR.match(line)) and error[1] not in LAUNCHERS:
            found = f"{error[1]} in {frame}" if frame else error[1]
    return found or "without a word"
