"""Something happens at a place of a recovery, once: right before or after what a phase does.

Used by: tests of recoveries over nodes. The act runs in the recovery's own thread, whichever node it is on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from jitc.proxy.recovery import recovery as recovery_module
from jitc.proxy.recovery.replay import Replay
from jitc.proxy.recovery.worker_calls import WorkerCalls

#: By phase what it does: the name of the call to workers, or of our function; and whether before or after that.
PLACES = [
    ("fence", "Fence", "before"), ("fence", "Fence", "after"), ("rebuild", "replace", "before"),
    ("rebuild", "OpenSession", "before"), ("rebuild", "OpenSession", "after"), ("decide", "decide", "before"),
    ("restore", "Rollback", "before"), ("restore", "Rollback", "after"), ("resume", "Resume", "before"),
    ("resume", "Resume", "after"), ("replay", "replay", "before"),
]  # fmt: skip
IDS = [f"{phase}-{when}-{name}" for phase, name, when in PLACES]


class At:
    """What happens there."""

    def __init__(self, place: tuple[str, str, str], act: Callable[[], None]) -> None:
        _, self._name, self._when = place
        self._act = act
        self.done = threading.Event()
        self._lock = threading.Lock()

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        begin, answers, look, decide = WorkerCalls.begin, WorkerCalls.answers, Replay.wait, recovery_module.decide
        reopen = recovery_module.Recovery._reopen

        def begun(calls: WorkerCalls, requests: Any, seconds: float) -> Any:
            for method in requests:
                self._at(method, "before")
            return begin(calls, requests, seconds)

        def answered(calls: WorkerCalls, asked: Any) -> Any:
            replies = answers(calls, asked)
            for method in {method for _, method in asked.sessions.values()}:
                self._at(method, "after")
            return replies

        monkeypatch.setattr(WorkerCalls, "begin", begun)
        monkeypatch.setattr(WorkerCalls, "answers", answered)
        monkeypatch.setattr(Replay, "wait", self._around("replay", look))
        monkeypatch.setattr(recovery_module, "decide", self._around("decide", decide))
        monkeypatch.setattr(recovery_module.Recovery, "_reopen", self._around("replace", reopen))

    def _around(self, name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        def acted(*arguments: Any, **keywords: Any) -> Any:
            self._at(name, "before")
            return act(*arguments, **keywords)

        return acted

    def _at(self, name: str, when: str) -> None:
        if (name, when) != (self._name, self._when):
            return
        with self._lock:
            if self.done.is_set():
                return
            self.done.set()
        self._act()
