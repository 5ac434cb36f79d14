"""The state machine of a recovery: its phases, in order, and the seconds that they took.

Called by: recoveries, each with a Timeline of its own. Promises: phases follow the table; the seconds of a phase that
another fault repeats are added up, so that the report's phases sum up to the whole; `parts` lists each one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum

from ..common.state_machine import Machine


class Phase(Enum):
    DETECTED = "detected"
    FENCED = "fenced"
    REBUILT = "rebuilt"
    DECIDED = "decided"
    RESTORED = "restored"
    RESUMED = "resumed"
    DONE = "done"
    GIVEN_UP = "given up"


class PhaseEvent(Enum):
    FENCE = "fence"
    REBUILD = "rebuild"
    DECIDE = "decide"
    RESTORE = "restore"
    RESUME = "resume"
    REPLAY = "replay"
    FAULT = "another fault"
    FORWARD_FAILED = "roll-forward is not possible"
    GIVE_UP = "give up"


_OPEN = (Phase.DETECTED, Phase.FENCED, Phase.REBUILT, Phase.DECIDED, Phase.RESTORED, Phase.RESUMED)
TABLE = {
    (Phase.DETECTED, PhaseEvent.FENCE): Phase.FENCED,
    (Phase.FENCED, PhaseEvent.REBUILD): Phase.REBUILT,
    (Phase.REBUILT, PhaseEvent.DECIDE): Phase.DECIDED,
    (Phase.DECIDED, PhaseEvent.RESTORE): Phase.RESTORED,
    (Phase.DECIDED, PhaseEvent.FORWARD_FAILED): Phase.REBUILT,
    (Phase.RESTORED, PhaseEvent.RESUME): Phase.RESUMED,
    (Phase.RESUMED, PhaseEvent.REPLAY): Phase.DONE,
    **{(phase, PhaseEvent.FAULT): Phase.DETECTED for phase in _OPEN},
    **{(phase, PhaseEvent.GIVE_UP): Phase.GIVEN_UP for phase in _OPEN},
}
#: The work done in each phase, as reports name it.
NAMES = {
    Phase.DETECTED: "fence",
    Phase.FENCED: "rebuild",
    Phase.REBUILT: "decide",
    Phase.DECIDED: "restore",
    Phase.RESTORED: "resume",
    Phase.RESUMED: "replay",
}


@dataclass(frozen=True)
class Part:
    """A phase of one attempt, in seconds of the monotonic clock."""

    phase: str
    start: float
    seconds: float
    attempt: int


class Timeline:
    """The machine, and the seconds of each phase (added up when a second fault repeats it)."""

    def __init__(self, detect_seconds: float) -> None:
        self.machine = Machine("recovery", TABLE, Phase.DETECTED)
        self.seconds: dict[str, float] = {"detect": detect_seconds} | dict.fromkeys(NAMES.values(), 0.0)
        self._last = time.monotonic()
        self.began = self._last - detect_seconds  # when the fault was noticed
        self.parts = [Part("detect", self.began, detect_seconds, 1)]
        self.newest = self._last  # when the newest event of any kind came
        self._attempt = 1

    def fire(self, event: PhaseEvent) -> None:
        """Ends the phase, whatever the event: time that a fault has wasted counts for the phase in which it came."""
        name = NAMES.get(self.machine.state)
        self.machine.fire(event)
        self.newest = now = time.monotonic()
        if name is not None:
            self.seconds[name] += now - self._last
            self.parts.append(Part(name, self._last, now - self._last, self._attempt))
        self._last = now
        self._attempt += event is PhaseEvent.FAULT

    def total(self) -> float:
        return sum(self.seconds.values())
