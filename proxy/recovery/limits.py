"""Limits of recoveries: faults that return at the same op, deaths and attempts without progress.

Called by: recoveries, each for its own sessions. Promise: a fault that comes back at the same op after two replays is
the program's own, which gets its CUDA error, and so is lack of memory that comes back once; progress resets the counts.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Replays of one op that fails each time.
REPLAYS_OF_A_FAULT = 2
#: Replays that diverged from the program: when to give up, and after how many to try an older boundary.
REPLAYS_ASTRAY, ASTRAY_BEFORE_OLDER = 5, 2
#: Losses of a worker without progress in between.
LOSSES_WITHOUT_PROGRESS = 3
#: Workers that the kernel ends for lack of memory: one may pay for others' memory, which may have become free.
STARVED_AT_ONE_PLACE = 2
#: Ops that count as one place, within a minibatch: the ops in flight when memory ran out are not the same each time.
OPS_OF_A_PLACE = 1000
#: Successive attempts of one recovery, none of which gets further than an earlier one.
ATTEMPTS_WITHOUT_PROGRESS = 8


@dataclass
class _Losses:
    progress: tuple[int, int, int]
    count: int = 0


class Limits:
    """The counts of each session."""

    def __init__(self) -> None:
        self._faults: dict[int, tuple[int, int]] = {}  # session -> (sequence, how often)
        self._astray: dict[int, int] = {}  # session -> divergent replays since the last one that was not
        self._losses: dict[int, _Losses] = {}
        self._starved: dict[int, tuple[int, int, int]] = {}  # session -> (prepared, executed, how often)
        self._caught_up: dict[int, int] = {}  # session -> all ops up to this one have run since its worker was lost

    def count_fault(self, session: int, sequence: int) -> bool:
        """Counts a fault. Returns whether it is to be handed to the program."""
        last, count = self._faults.get(session, (sequence, 0))
        count = count + 1 if last == sequence else 1
        self._faults[session] = (sequence, count)
        return count > REPLAYS_OF_A_FAULT

    def count_astray(self, session: int) -> bool:
        """Counts a replay in which a value that steers the program differed. Returns whether to stop trying."""
        self._astray[session] = self._astray.get(session, 0) + 1
        return self._astray[session] > REPLAYS_ASTRAY

    def prefers_older_boundary(self, session: int) -> bool:
        """Returns whether a replay from an older boundary is worth a try."""
        return self._astray.get(session, 0) > ASTRAY_BEFORE_OLDER

    def count_loss(self, session: int, progress: tuple[int, int, int]) -> bool:
        """Counts a lost worker. Returns whether that was too often at the same place.

        progress: prepared, executed, received. A worker that had nothing left to run did not die of an op, however
        often it is lost.
        """
        if self._caught_up.get(session) == progress[2]:
            return False
        losses = self._losses.get(session)
        if losses is None or any(now > before for now, before in zip(progress, losses.progress, strict=True)):
            losses = self._losses[session] = _Losses(progress)
        losses.count += 1
        return losses.count > LOSSES_WITHOUT_PROGRESS

    def count_starved(self, session: int, progress: tuple[int, int, int]) -> bool:
        """Counts a worker that the kernel ended for lack of memory. Returns whether that is to be the program's own
        error: its worker has ended for that reason at about this place before."""
        prepared, executed, _ = progress
        boundary, newest, count = self._starved.get(session, (prepared, executed, 0))
        if prepared > boundary or executed > newest + OPS_OF_A_PLACE:
            boundary, newest, count = prepared, executed, 0
        self._starved[session] = boundary, newest, count + 1
        return count + 1 >= STARVED_AT_ONE_PLACE

    def note_caught_up(self, session: int, received: int) -> None:
        """Notes that a replay has run all ops of the session, up to this one."""
        self._caught_up[session] = received
        self._astray.pop(session, None)

    def forget(self, session: int) -> None:
        self._caught_up.pop(session, None)
        self._astray.pop(session, None)
        self._faults.pop(session, None)
        self._losses.pop(session, None)
        self._starved.pop(session, None)


class Attempts:
    """The attempts of one recovery. Progress is compared as a tuple: the phase, then the ops replayed."""

    def __init__(self) -> None:
        self.count = 0
        self._furthest: tuple[int, ...] = ()
        self._fruitless = 0

    def begin(self) -> None:
        self.count += 1

    def count_interruption(self, reached: tuple[int, ...]) -> bool:
        """Counts an attempt that was interrupted. Returns whether another one would be of no use."""
        further = reached > self._furthest
        self._furthest = max(reached, self._furthest)
        self._fruitless = 1 if further else self._fruitless + 1
        return self._fruitless >= ATTEMPTS_WITHOUT_PROGRESS
