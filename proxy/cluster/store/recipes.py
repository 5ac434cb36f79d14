"""Registrations and campaigns of an engine, built on the verbs that each engine brings.

Called by: engines, which derive from it. Promises: when an engine has closed what runs, no thread of it is left.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from .campaign import Candidacy
from .engine import (
    LEASE_SECONDS,
    Campaign,
    Entry,
    Held,
    Leading,
    Lost,
    NotLeading,
    Registration,
    Store,
    Taken,
    check_key,
)
from .registration import Renewal


class Running(Protocol):
    """Something of an engine that has a thread."""

    @property
    def running(self) -> bool:
        """Returns whether it has not been closed."""

    def halt(self) -> None:
        """Lets its threads begin nothing any more."""

    def close(self) -> None:
        """Ends its threads."""


class Recipes(Store):
    """The part of an engine that does not depend on the kind of store."""

    def __init__(self, lease_seconds: float = LEASE_SECONDS) -> None:
        self._lease_seconds = lease_seconds
        self._running_lock = threading.Lock()
        self._running: list[Running] = []
        self._closed = False

    def register(
        self, key: str, value: bytes, notify: Callable[[Held | Lost | Taken], None], lease: str = ""
    ) -> Registration:
        check_key(key)
        renewal = Renewal(self, Entry(value, 0, lease), key, notify)
        self._run(renewal)
        renewal.start(self._lease_seconds)
        return renewal

    def lead(
        self, key: str, value: bytes, registration: Registration, notify: Callable[[Leading | NotLeading], None]
    ) -> Campaign:
        check_key(key)
        candidacy = Candidacy(self, Entry(value, 0), key, registration, notify)
        self._run(candidacy)
        candidacy.start()
        return candidacy

    def _run(self, one: Running) -> None:
        """Remembers what is to be closed with the engine. Raises ValueError if that has been closed."""
        with self._running_lock:
            if self._closed:
                raise ValueError("the engine is closed")
            self._running = [each for each in self._running if each.running] + [one]

    def _all_running(self) -> list[Running]:
        with self._running_lock:
            return list(self._running)

    def _close_running(self, connections: Callable[[], None] = lambda: None) -> None:
        """Ends what runs; connections: ends calls that wait, so that nothing is waited for."""
        with self._running_lock:
            self._closed = True
            running, self._running = self._running, []
        for one in running:
            one.halt()
        connections()
        for one in running:
            one.close()
