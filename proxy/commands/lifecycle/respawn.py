"""`jitc-proxyd --respawn`: a process that starts the service, and restarts it when it is killed.

Called by: proxyd.py; used where nothing else would restart it: `jitc run`, containers, in which it is the first
process. It has neither gRPC nor threads, and very little memory. Promises: signals reach the service; its exit status
is the service's; a service that is killed repeatedly is no longer restarted; orphaned processes are reaped. In a
container whose service has been replaced by one in another container, it stays as long as that one's programs need the
keeper here.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from ...keeper.launch import sessions_kept
from ..private_service import die_with_parent

#: So many ends within so many seconds are no accidents.
ENDS, WITHIN_SECONDS = 5, 60.0
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: Those that end a service. A program that takes its process's place finds them blocked (hand_over.py).
ENDING = (signal.SIGTERM, signal.SIGINT)
COMMAND = [sys.executable, "-m", "jitc.proxy.commands.proxyd"]


def sessions_are(count: int) -> str:
    """Returns the beginning of a sentence about so many sessions."""
    return "1 session is" if count == 1 else f"{count} sessions are"


class Respawn:
    """Runs one service after the other."""

    def __init__(self, arguments: list[str], at_first: list[str], directory: Path) -> None:
        """at_first: arguments of the first service alone; directory: the private folder."""
        self._arguments, self._at_first, self._directory = arguments, at_first, directory
        self._child = 0
        self._stopping = self._stays = False
        self._ends: list[float] = []

    def run(self) -> int:
        """Runs services. Returns the exit status of the last one."""
        self._listen()
        while True:
            status = self._one()
            if status >= 0 or self._stopping:
                self.stay()
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
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # its options are this process's: it reads no others
            die_with_parent(parent)
            os.execv(COMMAND[0], [*COMMAND, *self._arguments, *self._at_first])
        self._at_first = []
        if self._stopping:  # the signal came before there was anybody to forward it to
            self._send(signal.SIGTERM)
        while True:
            pid, status = os.wait()
            if pid == self._child:
                return os.waitstatus_to_exitcode(status)

    def _listen(self) -> None:
        for number in FORWARDED:
            signal.signal(number, self._forward)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)

    def stay(self) -> None:
        """Waits for processes that the service has left: only the first process of a container has any, the keeper."""
        self._child, self._stays = 0, True
        self._listen()
        with contextlib.suppress(ChildProcessError):
            while True:
                os.wait()

    def _forward(self, number: int, _: FrameType | None) -> None:
        if self._stays and self._stopping:
            os._exit(128 + number)
        if self._stays and (sessions := sessions_kept(self._directory)) is not None:
            print(
                f"jitc-proxyd: stopping; {sessions_are(sessions)} alive, which another service serves with memory and "
                "workers of this container: it stays until they end (signal again to end now, and them with it)",
                file=sys.stderr,
                flush=True,
            )
        self._stopping = True
        self._send(signal.SIGTERM if number == signal.SIGHUP else number)  # which asks a service to reload

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self._child:
                os.kill(self._child, number)

    def _may_start_again(self) -> bool:
        now = time.monotonic()
        self._ends = [*(one for one in self._ends if now - one < WITHIN_SECONDS), now]
        return len(self._ends) < ENDS
