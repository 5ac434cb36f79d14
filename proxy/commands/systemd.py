"""Messages for systemd about the service (sd_notify): it is ready, stops or reloads, and it still works.

Called by: proxyd.py. Promises: without systemd nothing happens; a sign of life is sent only if the service's lock is
free and its socket answers, so a service that is stopped or stuck is ended by systemd, and the next one takes over.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from typing import Protocol

#: A service that has not begun by then never will.
BEGINNING_SECONDS = 120.0


class Service(Protocol):
    """A service that can be asked whether it works."""

    def answers(self, seconds: float) -> bool:
        """Returns whether it answers within this time."""


def notify(state: str) -> None:
    """Notifies systemd, if it asked for it."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.sendto(state.encode(), address)


def watchdog_seconds() -> float:
    """Returns the time in which systemd wants a sign of life from this process (WatchdogSec=); 0: it wants none."""
    wanted = os.environ.get("WATCHDOG_USEC", "")
    process = os.environ.get("WATCHDOG_PID", "")
    if not wanted.isascii() or not wanted.isdigit() or (process and process != str(os.getpid())):
        return 0.0
    return int(wanted) / 1e6


class Watchdog:
    """Sends signs of life from a thread of its own: for a while because the service begins (after a reload systemd
    counts meanwhile), then because it answers."""

    def __init__(self) -> None:
        self._service: Service | None = None
        self._ended = threading.Event()
        self._begins_until = time.monotonic() + BEGINNING_SECONDS
        self._seconds = watchdog_seconds() / 3  # one may be late
        if self._seconds:
            threading.Thread(target=self._run, name="jitc-watchdog", daemon=True).start()

    def watch(self, service: Service) -> None:
        """From now on only the service's answers count."""
        self._service = service

    def stop(self) -> None:
        self._ended.set()

    def _run(self) -> None:
        while True:
            if self._lives():
                notify("WATCHDOG=1")
            if self._ended.wait(self._seconds):
                return

    def _lives(self) -> bool:
        if self._service is None:
            return time.monotonic() < self._begins_until
        return self._service.answers(self._seconds)
