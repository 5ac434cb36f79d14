"""Calls to the workers of several sessions at once, given up as soon as an event concerns the group.

Called by: recoveries, in the thread of their job. Promises: returns all replies, or raises Interrupted as soon as an
event concerns the group; a wait ends, except for ranks whose node cannot be reached: it says so, and goes on when the
node is back. Calls still in flight after an interruption have no effect: workers refuse calls of a recovery once a
newer one has fenced them, and end those that take long.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import grpc

from ..common.rpc import status_of
from ..ranks.events import Event, EventQueue
from ..ranks.rank import KILLED_SECONDS, SLOW_SECONDS, Rank, Worker
from ..ranks.states import SessionState
from .rank_times import RankTimes

#: Longer than any of these calls takes; a worker that overruns it is treated as lost.
CALL_SECONDS = 60.0
#: Time for which a dying worker is left to itself: it closes its connections before the kernel counts it as ended, and
#: its GPU is torn down in between.
ENDING_SECONDS = 2.0
#: Seconds between looks whether it has ended, where there is no notification.
LOOK_SECONDS = 0.25
#: Seconds between looks whether a node can be reached.
REACH_SECONDS = 1.0


class Interrupted(Exception):
    """The group has changed: another fault, a closed session. The recovery begins again."""


class Refused(Exception):
    """A worker refuses for good; asking again will not help."""


class NoRoom(Exception):
    """A node has no room for what it was asked to hold; the text says more."""


def want_open(sessions: Sequence[Rank]) -> None:
    """Raises Interrupted if a session is closed: programs may end at any time. Requires the ranks' lock."""
    if ended := [one.label() for one in sessions if one.state is SessionState.CLOSED]:
        raise Interrupted(f"{', '.join(ended)} ended")


@dataclass(eq=False)
class CallsUnderWay:
    """Calls without an answer so far, by session."""

    seconds: float
    futures: dict[int, Any] = field(default_factory=dict)
    sessions: dict[int, tuple[Rank, str]] = field(default_factory=dict)


class WorkerCalls:
    """The calls of one recovery."""

    def __init__(self, events: EventQueue, concerns: Callable[[Event], bool], times: RankTimes | None = None) -> None:
        self._events, self._concerns = events, concerns
        self._times = times or RankTimes()
        self.waits = ""  # what a wait is for that has no limit; empty: there is none

    def check(self) -> None:
        if self._events.stopped or self._events.any(self._concerns):
            raise Interrupted("something happened to the group")

    def one(self, session: Rank, method: str, request: Any) -> Any:
        return self.all(method, [(session, request)])[session.number]

    def all(self, method: str, requests: Iterable[tuple[Rank, Any]], seconds: float = CALL_SECONDS) -> dict[int, Any]:
        """Calls one method for many sessions. Returns the replies by session."""
        return self.all_of({method: list(requests)}, seconds)

    def all_of(self, requests: Mapping[str, list[tuple[Rank, Any]]], seconds: float) -> dict[int, Any]:
        """Calls several methods at once, one for each session. Returns the replies by session."""
        return self.answers(self.begin(requests, seconds))

    def begin(self, requests: Mapping[str, list[tuple[Rank, Any]]], seconds: float) -> CallsUnderWay:
        """Begins the calls without waiting; answers() waits for them."""
        asked = CallsUnderWay(seconds)
        for method, pairs in requests.items():
            for session, request in pairs:
                worker = session.worker
                if worker is None or not worker.works():
                    _cancel(asked.futures)
                    raise Interrupted(f"the worker of {session.label()} is dead")
                future = worker.ask(method, request, seconds, patient=True)
                done = functools.partial(self._times.called, session.number, method, time.monotonic())
                future.add_done_callback(done)  # before poke: a thread that it wakes finds the time noted
                future.add_done_callback(self._events.poke)
                asked.futures[session.number] = future
                asked.sessions[session.number] = session, method
        return asked

    def answers(self, asked: CallsUnderWay) -> dict[int, Any]:
        futures, methods = asked.futures, " and ".join(sorted({method for _, method in asked.sessions.values()}))
        ranks = [session for session, _ in asked.sessions.values()]
        if not self._within(asked.seconds + 5, lambda: _over(futures), ranks):
            _cancel(futures)
            raise Interrupted(f"something happened during {methods}")
        for number, future in futures.items():
            if future.done() and future.exception() is not None:
                _cancel(futures)
                self._failed(*asked.sessions[number], future)
        return {number: future.result() for number, future in futures.items()}

    def settled(self, futures: Sequence[Any], seconds: float, ranks: Sequence[Rank]) -> None:
        """Waits for calls to services of these ranks' nodes. Raises Interrupted, NoRoom, and Refused with what a
        service says."""
        for one in futures:
            one.add_done_callback(self._events.poke)
        over = self._within(seconds + 5, lambda: _over(dict(enumerate(futures))), ranks)
        failed = next((error for one in futures if one.done() and (error := one.exception()) is not None), None)
        if failed is None and over:
            return
        _cancel(dict(enumerate(futures)))
        code, text = status_of(failed) if isinstance(failed, grpc.RpcError) else (grpc.StatusCode.CANCELLED, "")
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            raise NoRoom(text)
        if over and code not in (grpc.StatusCode.ABORTED, grpc.StatusCode.CANCELLED):
            raise Refused(text)
        raise Interrupted(text or "something happened to the group")

    def known(self, missing: Callable[[], str]) -> None:
        """Waits until nothing is missing any more, however long; events are looked at later. Raises Interrupted when
        the service stops."""
        while why := missing():
            self._wait_for(why)
            if self._events.wait(lambda: self._events.stopped, lambda _: False, LOOK_SECONDS):
                raise Interrupted("the service is ending")
        self.waits = ""

    def sleep(self, done: Callable[[], bool], seconds: float) -> bool:
        """Waits. Raises Interrupted when an event concerns the group."""
        finished = self._events.wait(done, self._concerns, seconds)
        if not finished:
            self.check()
        return finished

    def await_ends(self, sessions: Iterable[Rank]) -> None:
        """Waits for the ends of the workers that these sessions have had: until then their GPUs may write to memory
        that is to be restored. Raises Refused when one does not end."""
        for session in sessions:
            if session.worker is not None:
                self._await_end(session.worker, session)

    def _await_end(self, worker: Worker, session: Rank) -> None:
        began = time.monotonic()
        while not worker.ends_within(0) and not self.sleep(lambda: worker.ends_within(0), LOOK_SECONDS):
            if self._unreachable([session]):
                began = time.monotonic()
            waited = time.monotonic() - began
            if waited >= ENDING_SECONDS:
                worker.finish()
            if waited >= SLOW_SECONDS:
                worker.tell_slow()
            if waited >= KILLED_SECONDS:
                raise Refused(worker.slow())

    def _within(self, seconds: float, done: Callable[[], bool], ranks: Sequence[Rank]) -> bool:
        """Waits. Returns False when an event concerns the group, or the time is over; time in which a node of these
        ranks cannot be reached does not count."""
        left = seconds
        while left > 0:
            began = time.monotonic()
            if self._events.wait(done, self._concerns, min(left, REACH_SECONDS)):
                self.waits = ""
                return True
            if self._events.stopped or self._events.any(self._concerns):
                return False
            if not self._unreachable(ranks):
                left -= time.monotonic() - began
        return False

    def _unreachable(self, ranks: Iterable[Rank]) -> bool:
        why = "; ".join(sorted({why for one in ranks if (why := one.unreachable())}))
        if why:
            self._wait_for(why)
        else:
            self.waits = ""
        return bool(why)

    def _wait_for(self, why: str) -> None:
        if not self.waits:
            print(f"jitc-proxyd: a recovery waits: {why}", file=sys.stderr, flush=True)
        self.waits = why

    def _failed(self, session: Rank, method: str, future: Any) -> NoReturn:
        error, worker = future.exception(), session.worker
        code = error.code() if isinstance(error, grpc.RpcError) else error
        if code is grpc.StatusCode.ABORTED:  # the service of its node is another one, or follows another leader
            raise Interrupted(f"{method} of {session.label()} was refused: {future.details()}")
        if code is grpc.StatusCode.UNAVAILABLE and worker is not None and _is_over(worker):
            raise Interrupted(f"the worker of {session.label()} has ended")
        if session.state is not SessionState.CLOSED and worker is not None and worker.works():
            # The worker lives but cannot do its part, so it is treated as lost.
            print(
                f"jitc-proxyd: {method} of {session.label()} failed ({code}: {future.details()})",
                file=sys.stderr,
            )
            worker.replace()
            if method == "OpenSession" and code is grpc.StatusCode.FAILED_PRECONDITION:
                raise Refused(f"the session of {session.label()} cannot be opened again: {future.details()}")
        raise Interrupted(f"{method} of {session.label()} failed")


def _is_over(worker: Worker) -> bool:
    """Returns whether the worker's connections are cut: it is ending, or is about to."""
    return not worker.works() or worker.ends_within(ENDING_SECONDS)


def _over(futures: Mapping[int, Any]) -> bool:
    """Returns whether all have answered, or one has failed; the answers of the others do not matter then."""
    done = [one for one in futures.values() if one.done()]
    return len(done) == len(futures) or any(one.exception() is not None for one in done)


def _cancel(futures: Mapping[int, Any]) -> None:
    for future in futures.values():
        future.cancel()
