"""Calls to the workers of several sessions at once, given up as soon as something else happens.

Called by: recovery runs, in the coordinator's thread. Promise: returns all replies, or raises
Interrupted (something happened to the group: look again), never hangs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import grpc

from ..node.sessions import Session, SessionState
from .events import Happening, Happenings

#: Longer than any of these calls takes; a worker that overruns is treated as lost.
CALL_SECONDS = 60.0
#: How long calls that are already under way may end by themselves when the recovery restarts.
SETTLE_SECONDS = 5.0


class Interrupted(Exception):
    """The group has changed: another fault, a closed session. The recovery starts again."""


class Refused(Exception):
    """A worker says that what is asked for cannot be had; asking again will not help."""


class Calls:
    """Of one recovery."""

    def __init__(self, happenings: Happenings, concerns: Callable[[Happening], bool]) -> None:
        self._happenings, self._concerns = happenings, concerns

    def check(self) -> None:
        if self._happenings.stopped or self._happenings.any(self._concerns):
            raise Interrupted("something happened to the group")

    def one(self, session: Session, method: str, request: Any) -> Any:
        return self.all(method, [(session, request)])[session.number]

    def all(
        self, method: str, requests: Iterable[tuple[Session, Any]], seconds: float = CALL_SECONDS
    ) -> dict[int, Any]:
        """One method, many sessions. Replies by session."""
        return self.all_of({method: list(requests)}, seconds)

    def all_of(self, requests: Mapping[str, list[tuple[Session, Any]]], seconds: float) -> dict[int, Any]:
        """Several methods at once, each session once."""
        futures: dict[int, Any] = {}
        sessions: dict[int, tuple[Session, str]] = {}
        for method, pairs in requests.items():
            for session, request in pairs:
                worker = session.worker
                if worker is None or not worker.alive():
                    self._settle(futures)
                    raise Interrupted(f"the worker of session {session.number} is dead")
                futures[session.number] = getattr(worker.stub, method).future(request, timeout=seconds)
                sessions[session.number] = session, method
        for future in futures.values():
            future.add_done_callback(self._happenings.poke)
        if not self._happenings.wait(lambda: all(one.done() for one in futures.values()), self._concerns, seconds + 5):
            self._settle(futures)
            raise Interrupted(f"something happened during {' and '.join(requests)}")
        return {number: self._result(*sessions[number], future) for number, future in futures.items()}

    def sleep(self, done: Callable[[], bool], seconds: float) -> bool:
        """Waits; raises Interrupted when something happens to the group."""
        finished = self._happenings.wait(done, self._concerns, seconds)
        if not finished:
            self.check()
        return finished

    def _settle(self, futures: Mapping[int, Any]) -> None:
        """A restart fences again; calls that only copy are left to end, so that they do not overlap it."""
        self._happenings.wait(lambda: all(one.done() for one in futures.values()), lambda _: False, SETTLE_SECONDS)
        for future in futures.values():
            future.cancel()

    def _result(self, session: Session, method: str, future: Any) -> Any:
        error = future.exception()
        if error is None:
            return future.result()
        worker = session.worker
        if session.state is not SessionState.CLOSED and worker is not None and worker.alive():
            # It lives but cannot do its part: a worker of no use is a lost one.
            code = error.code() if isinstance(error, grpc.RpcError) else error
            print(
                f"jitc-proxyd: {method} of session {session.number} failed ({code}: {future.details()})",
                file=sys.stderr,
            )
            worker.kill()
            worker.process.wait()
            if method == "OpenSession" and code is grpc.StatusCode.FAILED_PRECONDITION:
                raise Refused(f"session {session.number} cannot be opened again: {future.details()}")
        raise Interrupted(f"{method} of session {session.number} failed")
