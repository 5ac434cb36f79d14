"""`jitc-proxyd --respawn`: a process that starts the service, and restarts it when it is killed.

Called by: proxyd.py; used where nothing else would restart it: `jitc run`, containers, in which it is the first
process. It has neither gRPC nor threads, and very little memory. Promises: signals reach the service; its exit status
is the service's; a service that is killed repeatedly is no longer restarted; orphaned processes are reaped.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from types import FrameType

from .private_service import die_with_parent

#: So many ends within so many seconds are no accidents.
ENDS, WITHIN_SECONDS = 5, 60.0
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
COMMAND = [sys.executable, "-m", "jitc.proxy.commands.proxyd"]


class Respawn:
    """Runs one service after the other."""

    def __init__(self, arguments: list[str]) -> None:
        self._arguments = arguments
        self._child = 0
        self._stopping = False
        self._ends: list[float] = []

    def run(self) -> int:
        """Runs services. Returns the exit status of the last one."""
        for number in FORWARDED:
            signal.signal(number, self._forward)
        while True:
            status = self._one()
            if status >= 0 or self._stopping:
                return status if status >= 0 else 128 - status
            name = signal.Signals(-status).name
            if not self._may_start_again():
                print(f"jitc-proxyd: ended by {name} again and again; not started any more", file=sys.stderr)
                return 128 - status
            print(f"jitc-proxyd: ended by {name}; another one takes over", file=sys.stderr, flush=True)

    def _one(self) -> int:
        """Starts the service. Returns its exit status; that of a signal is negative."""
        parent = os.getpid()
        self._child = os.fork()
        if not self._child:
            for number in FORWARDED:
                signal.signal(number, signal.SIG_DFL)
            die_with_parent(parent)
            os.execv(COMMAND[0], [*COMMAND, *self._arguments])
        if self._stopping:  # the signal came before there was anybody to forward it to
            self._send(signal.SIGTERM)
        while True:
            pid, status = os.wait()
            if pid == self._child:
                return os.waitstatus_to_exitcode(status)

    def _forward(self, number: int, _: FrameType | None) -> None:
        self._stopping = True
        self._send(number)

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self._child:
                os.kill(self._child, number)

    def _may_start_again(self) -> bool:
        now = time.monotonic()
        self._ends = [*(one for one in self._ends if now - one < WITHIN_SECONDS), now]
        return len(self._ends) < ENDS
