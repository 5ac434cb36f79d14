"""Ending of sessions that cannot continue: only their programs get an error.

Called by: recoveries (an error of the program's own, a job that cannot be recovered), the coordinator (a defect of
jitc). Promise: every given session is ended, even if ending another one fails.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable

from jitc.v1 import worker_pb2

from ..ranks.rank import Rank, Ranks
from ..ranks.states import SessionEvent, SessionState
from .worker_calls import CALL_SECONDS

#: Time for a killed process to end.
DYING_SECONDS = 10.0
CUDA_ERROR_UNAVAILABLE = 46  # cudaErrorDevicesUnavailable
CUDA_ERROR_OUT_OF_MEMORY = 2  # cudaErrorMemoryAllocation


def abandon(ranks: Ranks, session: Rank, status: int, message: str) -> None:
    """Fails the session: from now on the program gets this error."""
    with ranks.changed:
        if session.state in (SessionState.CLOSED, SessionState.OPENING):
            return
        worker = session.worker
        lives = worker is not None and worker.alive()
        if not lives:
            ranks.release(session)  # its memory is free by the time the failure is visible
        session.failure = message
        session.machine.fire(SessionEvent.FAIL)
        ranks.note(session)
        ranks.changed.notify_all()
    if worker is None or not worker.works():
        return
    request = worker_pb2.AbandonRequest(session=session.number, status=status, message=message)
    if session.node:  # it may be out of reach for long, and hears of it when it is not
        worker.ask("Abandon", request, CALL_SECONDS, patient=True)
    else:
        worker.ask("Abandon", request, CALL_SECONDS).exception()


def abandon_starved(ranks: Ranks, session: Rank, why: str) -> str:
    """Fails a session whose workers the kernel ended for lack of memory. Returns the text for the report."""
    abandon(ranks, session, CUDA_ERROR_OUT_OF_MEMORY, f"{why}, twice at about the same place")
    return f"{session.label()}: {session.failure}"


def give_up(ranks: Ranks, sessions: Iterable[Rank], why: str) -> None:
    """Ends all of these sessions, because their job cannot be recovered.

    Living workers end first: what they hold on the GPU becomes free for others, although the programs may continue. A
    program gets its error when it looks for its worker again.
    """
    for session in sessions:
        try:
            if session.worker is not None and session.worker.alive():
                session.worker.kill()
                if not session.worker.ends_within(DYING_SECONDS):
                    session.worker.tell_slow()
            abandon(ranks, session, CUDA_ERROR_UNAVAILABLE, f"jitc could not recover this job: {why}")
        except Exception:
            traceback.print_exc(file=sys.stderr)


def of_defect(error: Exception) -> str:
    """Returns the reason for giving up a job after an unexpected exception."""
    return f"jitc has a defect ({type(error).__name__}: {error}); the service's output has the details"
