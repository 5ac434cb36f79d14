"""The activity of one rank from sample to sample: its current op, and since when.

Called by: the hang watch. Promises: sends one query at a time and never waits for an answer; time in which the service
itself was not running does not count.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

from jitc.v1 import worker_pb2

from ..ranks.rank import Rank, Worker
from .suspects import Standing, State

#: Looks without an answer after which a worker counts as silent.
PATIENCE = 2


@dataclass(eq=False)
class Pulse:
    """The activity of one session on one worker, in one epoch: a recovery starts a new one."""

    session: Rank
    worker: Worker
    epoch: int
    answer_seconds: float  # that a question is kept open for
    standing: Standing = field(init=False)
    executed: int = 0  # all ops up to this one have run
    boundary: int = 0
    since: float = field(default_factory=time.monotonic)  # when it got on last
    judged: bool = False  # it has been taken for hung: the recovery is on its way
    _mark: tuple[Any, ...] = ()
    _stats: Any = None
    _ping: Any = None
    _looks: int = 0  # without an answer
    _silent: float = 0.0

    def __post_init__(self) -> None:
        self.standing = self._standing(State.IDLE)

    def fits(self, session: Rank) -> bool:
        return session.worker is self.worker and session.epoch == self.epoch

    def look(self, elapsed: float) -> None:
        """Reads the answers that have arrived, and queries again. elapsed: seconds since the last sample."""
        if self._stats is None:
            return self._ask()
        if not self._stats.done():
            return self._unanswered(elapsed)
        answer = None if self._stats.cancelled() or self._stats.exception() else self._stats.result()
        self._looks, self._silent, self._ping = 0, 0.0, None
        self._stand(_of_session(self.session.number, answer), elapsed)
        self._ask()

    def close(self) -> None:
        for question in (self._stats, self._ping):
            if question is not None:
                question.cancel()

    def _ask(self) -> None:
        self._stats = self.worker.ask("Stats", worker_pb2.Empty(), self.answer_seconds)

    def _unanswered(self, elapsed: float) -> None:
        """Pings a worker that does not answer. Stats may wait for a lock of the executor; Ping only for the process."""
        self._looks += 1
        self._silent += elapsed
        if self._looks < PATIENCE:
            return
        if self._ping is None:
            self._ping = self.worker.ask("Ping", worker_pb2.Empty(), self.answer_seconds)
        elif self._ping.done():  # it lives, though it does not say what it is at
            self._ping, self._silent = None, 0.0
            self.since = time.monotonic()
        known = not self.session.node  # else the heartbeat of its node knows better: the way there may be cut
        state = State.SILENT if self._silent > 0 and known else State.IDLE
        self.standing = self._standing(state, self._silent, self.executed + 1)

    def _stand(self, stats: dict[str, Any], elapsed: float) -> None:
        work = stats.get("under_way") or {}
        self.executed = int(stats.get("executed", self.executed))
        self.boundary = int(stats.get("boundary", self.boundary))
        state = _state(work, stats.get("turns") or {}) if stats.get("state") == "running" else State.IDLE
        mark = (state, work.get("sequence"), work.get("part"))
        same = mark == self._mark and state is not State.IDLE
        self._mark = mark
        if not same:
            self.since = time.monotonic()
        still = self.standing.still + elapsed if same else 0.0
        sequence, will_go_on = int(work.get("sequence", 0)), bool(stats.get("will_go_on"))
        self.standing = self._standing(state, still, sequence, will_go_on=will_go_on)

    def _standing(self, state: State, still: float = 0.0, sequence: int = 0, *, will_go_on: bool = False) -> Standing:
        gpu = self.session.node, self.session.host
        return Standing(self.session.number, state, still, sequence, gpu, will_go_on)


def _state(work: dict[str, Any], turns: dict[str, Any]) -> State:
    if not work.get("sequence"):
        return State.IDLE
    if not work["collective"]:
        return State.QUEUES if turns.get("waits") else State.COMPUTES
    return State.WAITS if work["entered"] else State.LATE


def _of_session(number: int, answer: Any) -> dict[str, Any]:
    try:
        sessions: list[dict[str, Any]] = json.loads(answer.json).get("sessions", []) if answer is not None else []
        return next((one for one in sessions if one.get("session") == number), {})
    except (ValueError, AttributeError, TypeError, RecursionError):
        return {}
