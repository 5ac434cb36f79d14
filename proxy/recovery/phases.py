"""The state machine of a recovery: its phases, in order, and the seconds that they took.

Called by: recoveries, each with a Timeline of its own. Promises: phases follow the table; a phase that another fault
repeats has its seconds added up, so that the report's phases sum up to the whole.
"""

from __future__ import annotations

import time
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
#: The name in reports of the time that ends with an event.
NAMES = {
    PhaseEvent.FENCE: "fence",
    PhaseEvent.REBUILD: "rebuild",
    PhaseEvent.DECIDE: "decide",
    PhaseEvent.RESTORE: "restore",
    PhaseEvent.RESUME: "resume",
    PhaseEvent.REPLAY: "replay",
}


class Timeline:
    """The machine, and the seconds of each phase (added up when a second fault repeats it)."""

    def __init__(self, detect_seconds: float) -> None:
        self.machine = Machine("recovery", TABLE, Phase.DETECTED)
        self.seconds: dict[str, float] = {"detect": detect_seconds} | dict.fromkeys(NAMES.values(), 0.0)
        self._last = time.monotonic()

    def fire(self, event: PhaseEvent) -> None:
        self.machine.fire(event)
        now = time.monotonic()
        name = NAMES.get(event)
        if name is not None:
            self.seconds[name] += now - self._last
            self._last = now

    def total(self) -> float:
        return sum(self.seconds.values())
