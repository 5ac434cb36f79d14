"""The training processes of sessions, as the keeper knows them: by tickets.

Called by: node.py, ../../tenants/tenant.py (a service that takes over). Promises: a session ends when its program does;
when the keeper that knew the programs has ended, each has RETURN_SECONDS to come back with its session's token and a
ticket of the next keeper's, because until then nobody can say whether it lives.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

import grpc

from ...common.rpc import refuse
from ...keeper.client import Keeper
from ...keeper.line import KeeperLost
from ..registry import Registry
from ..session import Session
from ..workers.watch import Watch

#: As long as programs wait for a service (JITC_SERVICE_TIMEOUT); one that lives is back within seconds.
RETURN_SECONDS = 120.0
_TICKET = re.compile("[0-9a-f]{32}")
_NO_TICKET = "this is no ticket of the keeper's"
_NOT_CONNECTED = "the program is not connected to the keeper; connect and ask again"


class Programs:
    """The programs of one tenant. A session whose program is not known yet has an empty one."""

    def __init__(self, registry: Registry, watch: Watch, keeper: Keeper, close: Callable[[Session], None]) -> None:
        """close: closes a session; it may wait for the worker."""
        self._registry, self._keeper, self._close = registry, keeper, close
        keeper.when_ended(lambda program: watch.post(lambda: self._ended(program)))
        self._timer: threading.Timer | None = None

    def process(self, request: Any, context: Any) -> int:
        """Returns the process of the program that asks, as seen from here; 0: it is in another container."""
        if not _TICKET.fullmatch(request.program):
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, _NO_TICKET)
        pid = self._watched(request.program)
        if pid is None:
            refuse(context, grpc.StatusCode.UNAVAILABLE, _NOT_CONNECTED)
        return pid

    def watch(self, session: Session) -> bool:
        """Has the session closed when its program ends. Returns False when that has happened already."""
        there = not session.program or self._watched(session.program) is not None
        if not there:
            self._close(session)
        return there

    def await_return(self, sessions: Iterable[Session], unknown: bool) -> None:
        """Gives programs that no keeper knows time to come back. unknown: that is all of them."""
        with self._registry.changed:
            for session in sessions:
                session.program = "" if unknown else session.program
                self._registry.note(session)
            if all(session.program for session in sessions):
                return
        self._timer = threading.Timer(RETURN_SECONDS, self._give_up)
        self._timer.name, self._timer.daemon = "jitc-returns", True
        self._timer.start()

    def returned(self, session: Session, request: Any, context: Any) -> None:
        """Notes which program the session has, if that is not known: the one that has its token."""
        if session.program:
            return
        self.process(request, context)
        with self._registry.changed:
            session.program = request.program
            self._registry.note(session)
        self.watch(session)  # it may have ended meanwhile

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _give_up(self) -> None:
        for session in self._registry.of_program(""):
            why = f"its program has not come back {RETURN_SECONDS:.0f} s after the end of jitc-keeper"
            print(f"jitc-proxyd: session {session.number} is closed: {why}", file=sys.stderr, flush=True)
            self._close(session)

    def _watched(self, program: str) -> int | None:
        try:
            return self._keeper.watch(program)
        except KeeperLost:  # the service ends
            return None

    def _ended(self, program: str) -> None:
        """Closes the program's sessions in other threads: closing waits for the worker; the watch thread must not."""
        for session in self._registry.of_program(program):
            threading.Thread(target=self._close, args=(session,), name="jitc-close", daemon=True).start()
