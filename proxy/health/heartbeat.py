"""Detects workers that are alive but do nothing: stopped, deadlocked or starved.

Called by: the service. The kernel reports a death but not a stopped process, so each worker is queried repeatedly.
Promises: one option (Config.hang_seconds) limits silence; only unanswered questions count, so that a service that was
itself stopped does not blame its workers; a silent worker is killed, and its end is handled like any other death; a
worker that is already ending is not silent, however long its end takes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jitc.v1 import worker_pb2

from ..common.rounds import Rounds
from ..ranks.causes import HUNG_WORKER
from ..ranks.rank import Worker

#: Unanswered questions in a row after which a worker is killed, spread over the time limit.
QUESTIONS = 4


@dataclass(eq=False)
class _Pulse:
    """The state of one worker."""

    heard: float = field(default_factory=time.monotonic)
    unanswered: int = 0
    question: Any = None


class Heartbeat(Rounds):
    """A thread that queries workers; there is none if seconds is 0."""

    def __init__(self, workers: Callable[[], Sequence[Worker]], seconds: float) -> None:
        super().__init__("jitc-heartbeat", seconds / QUESTIONS, self._round)
        self._workers = workers
        self._pulses: dict[Worker, _Pulse] = {}

    def _round(self) -> None:
        workers = [one for one in self._workers() if one.ready() and one.works()]
        self._pulses = {worker: self._pulses.get(worker) or _Pulse() for worker in workers}
        for worker, pulse in self._pulses.items():
            self._look(worker, pulse)

    def _look(self, worker: Worker, pulse: _Pulse) -> None:
        """Reads the answer to the last query and sends the next one."""
        if pulse.question is not None and not pulse.question.done():
            pulse.question.cancel()
            pulse.unanswered += 1
        elif pulse.question is not None and pulse.question.exception() is not None:
            pulse.unanswered += 1
        elif pulse.question is not None:
            pulse.heard, pulse.unanswered = time.monotonic(), 0
        if pulse.unanswered >= QUESTIONS:
            silent = time.monotonic() - pulse.heard
            print(f"jitc-proxyd: worker {worker.pid} has been silent for {silent:.1f} s; killed", file=sys.stderr)
            worker.kill_with_cause(HUNG_WORKER, pulse.heard, f"its worker did not answer for {silent:.1f} s")
            return
        pulse.question = worker.ask("Ping", worker_pb2.Empty(), self._pause * QUESTIONS)
