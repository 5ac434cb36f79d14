"""When to stop trying: a fault that returns at the same op, deaths without progress.

Called by: the coordinator, in its own thread. A fault that comes back at the same op after two
replays is the program's own, and it gets its CUDA error.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Replays of one op that fails each time.
REPLAYS_OF_A_FAULT = 2
#: Losses of a worker without any progress between them.
LOSSES_WITHOUT_PROGRESS = 3


@dataclass
class _Losses:
    progress: tuple[int, int, int]
    count: int = 0


class Limits:
    """Counts per session."""

    def __init__(self) -> None:
        self._faults: dict[int, tuple[int, int]] = {}  # session -> (sequence, how often)
        self._losses: dict[int, _Losses] = {}

    def fault(self, session: int, sequence: int) -> bool:
        """True when this fault is to be handed to the program."""
        last, count = self._faults.get(session, (sequence, 0))
        count = count + 1 if last == sequence else 1
        self._faults[session] = (sequence, count)
        return count > REPLAYS_OF_A_FAULT

    def loss(self, session: int, progress: tuple[int, int, int]) -> bool:
        """True when the worker was lost too often at the same place. progress: prepared, executed, received."""
        losses = self._losses.get(session)
        if losses is None or any(now > before for now, before in zip(progress, losses.progress, strict=True)):
            losses = self._losses[session] = _Losses(progress)
        losses.count += 1
        return losses.count > LOSSES_WITHOUT_PROGRESS

    def forget(self, session: int) -> None:
        self._faults.pop(session, None)
        self._losses.pop(session, None)
