"""A job that is being recovered: its recovery in a thread of its own, and the queue of its events.

Called by: the coordinator. Promises: jobs do not wait for each other; RecoveryEnded follows in any case, even if the
recovery raises an unexpected exception: only this job is then given up, with the reason.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Sequence

from ..ranks.events import Event, EventQueue, RecoveryEnded
from ..ranks.rank import NotLed, Rank
from .ending import of_defect
from .recovery import Recovery

#: Time for a recovery to stop: calls in flight are given up at once.
STOP_SECONDS = 30.0


class Job:
    """A job from its first fault until RecoveryEnded has been handled."""

    def __init__(
        self, number: int, recovery: Recovery, events: EventQueue, ended: Callable[[Event], None]
    ) -> None:  # fmt: skip
        self.number = number
        self.recovery, self._events, self._ended = recovery, events, ended
        self.left = False  # another service recovers the job by now: the end of this recovery is of no importance
        self.refused = False  # it was left because this service may not recover it
        self._thread = threading.Thread(target=self._run, name="jitc-recovery", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def touches(self, sessions: Sequence[Rank]) -> bool:
        """Returns whether events of these sessions concern this recovery."""
        recovery = self.recovery
        return recovery.incident.touches(sessions) or any(session in sessions for session in recovery.group)

    def put(self, event: Event) -> None:
        self._events.put(event)

    def unread(self) -> list[Event]:
        """Returns the events that came after the recovery was over."""
        return self._events.take(lambda _: True)

    def stop(self) -> None:
        """Ends the recovery without a result."""
        self._events.stop()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(STOP_SECONDS)

    def leave(self) -> None:
        """Ends the recovery without a result, and does not wait for that: another service recovers the job."""
        self.left = True
        self._events.stop()

    def _run(self) -> None:
        try:
            self.recovery.run()
        except NotLed:
            self.left = self.refused = True
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            self.recovery.give_up(of_defect(error))
        finally:
            self._ended(RecoveryEnded(self.number))
