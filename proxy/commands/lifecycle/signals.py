"""Signals and messages of the keeper that end a service, or make it read its options again.

Called by: serve.py. Promise: the first SIGTERM or SIGINT asks for the end, the second forces it.
"""

from __future__ import annotations

import signal
import threading

from .reload import hears
from .respawn import ENDING


class Signals:
    """Handles the signals from the moment when it is made."""

    def __init__(self) -> None:
        self.first, self.second = threading.Event(), threading.Event()
        self.replaced = self.asked = self.reload = False  # asked: by a signal
        for number in ENDING:
            signal.signal(number, self._arrived)
        heard: tuple[signal.Signals, ...] = ENDING
        if hears():
            signal.signal(signal.SIGHUP, self._reload)
            heard = (*ENDING, signal.SIGHUP)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, heard)

    def _reload(self, *_: object) -> None:
        self.reload = True

    def keeper_lost(self) -> None:
        self.first.set()
        self.second.set()  # it does not wait for its sessions: they go on with another keeper

    def hand_over(self) -> None:
        self.replaced = True
        self.first.set()
        self.second.set()  # it does not wait for its sessions to end either

    def _arrived(self, *_: object) -> None:
        self.asked = True
        (self.second if self.first.is_set() else self.first).set()
