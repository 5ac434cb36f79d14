"""Signals and messages of the keeper that end a service, or make it read its options again.

Called by: serve.py. Promises: the first SIGTERM or SIGINT asks for the end, the second forces it; SIGUSR1 writes the
stacks of all threads to standard error, which no lock keeps from that.
"""

from __future__ import annotations

import faulthandler
import signal

from .flag import Flag
from .reload import hears
from .respawn import ENDING

_STANDARD_ERROR = 2


class Signals:
    """Handles the signals from the moment when it is made."""

    def __init__(self) -> None:
        self.first, self.second = Flag(), Flag()
        self.replaced = self.asked = self.reload = False  # asked: by a signal
        for number in ENDING:
            signal.signal(number, self._arrived)
        heard: tuple[signal.Signals, ...] = ENDING
        if hears():
            signal.signal(signal.SIGHUP, self._reload)
            heard = (*ENDING, signal.SIGHUP)
        faulthandler.register(signal.SIGUSR1, _STANDARD_ERROR, all_threads=True)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (*heard, signal.SIGUSR1))

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
