"""Messages for systemd about the service (sd_notify): it is ready, stops or reloads, and it still works; and the
memory that systemd is to hold for it.

Called by: serve.py. Promises: without systemd nothing happens; a sign of life is sent only if the service's lock is
free and its socket answers, so a service that is stopped or stuck is ended by systemd, and the next one takes over.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from typing import Protocol

from ...common.complaints import Complaints
from .activation import STORED

#: A service that has not begun by then never will.
BEGINNING_SECONDS = 120.0
#: Time for systemd to take a descriptor.
STORE_SECONDS = 5.0


class Service(Protocol):
    """A service that can be asked whether it works."""

    def answers(self, seconds: float) -> bool:
        """Returns whether it answers within this time."""


def notify(state: str) -> None:
    """Notifies systemd, if it asked for it."""
    address = _address()
    if not address:
        return
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.sendto(state.encode(), address)


def _address() -> str:
    """Returns the address of systemd's socket; empty: there is none."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    return "\0" + address[1:] if address.startswith("@") else address


class DescriptorStore:
    """systemd's file descriptor store: it holds descriptors for the unit, and gives them to the service that it starts
    next (activation.py). What is in it outlives service and keeper."""

    def __init__(self, address: str, most: int) -> None:
        """address: of systemd's socket; most: descriptors that the unit lets it hold."""
        self._address, self._most = address, most
        self._names: set[str] = set()
        self._complaints = Complaints("systemd's descriptor store")

    def put(self, name: str, descriptor: int) -> None:
        """Has it hold a file; it drops one that it holds already. Does not raise: what it lacks is only missed when
        service and keeper end together."""
        if len(self._names) >= self._most and name not in self._names:
            return self._complaints.of(OSError(f"FileDescriptorStoreMax={self._most} is too small for its sessions"))
        self._names.add(name)
        self._say(f"FDSTORE=1\nFDPOLL=0\nFDNAME={STORED}{name}", [descriptor])

    def remove(self, name: str) -> None:
        self._names.discard(name)
        self._say(f"FDSTOREREMOVE=1\nFDNAME={STORED}{name}", [])

    def _say(self, state: str, descriptors: list[int]) -> None:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
                out.settimeout(STORE_SECONDS)
                out.connect(self._address)
                socket.send_fds(out, [state.encode()], descriptors)
        except OSError as error:
            self._complaints.of(error)


def descriptor_store() -> DescriptorStore | None:
    """Returns the unit's store, if it has one: FDSTORE= says so, from systemd 254 on by itself, else by the unit."""
    most = os.environ.get("FDSTORE", "")
    if not (_address() and most.isascii() and most.isdigit() and int(most)):
        return None
    return DescriptorStore(_address(), int(most))


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
