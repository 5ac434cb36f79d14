"""Asks a service again and again; once it has answered, its absence is no error.

Called by: watch.py, follow.py. Promises: a service that never answered is an error as for any other command, which
waits for one that begins; later, its absence is reported once, or can be shown in a line; restarts of the service go
unnoticed if they are short.
"""

from __future__ import annotations

import json
import time
from typing import Any

from ..options import NO_SERVICE, CommandError, chosen_socket, complain
from ..questions.ask import ask
from .signals import Signals


class Asking:
    """One service, over all its restarts: also while it is away, another one is not asked instead."""

    def __init__(self, socket: str | None, signals: Signals) -> None:
        self._socket, self._signals = chosen_socket(socket), signals
        self._answered = self._reported = False
        self._since = 0.0
        self._why = ""

    def ask(self, method: str, request: Any) -> Any:
        """Returns the document; None: there is no answer at present. Raises CommandError if there never was one."""
        began = time.monotonic()
        try:
            with self._signals.interruptible():
                document = json.loads(ask(self._socket, method, request, waits=not self._answered).json)
        except CommandError as error:
            if not self._answered:
                raise
            self._since = self._since or began
            self._why = "" if error.code == NO_SERVICE else f" ({error})"
            return None
        self._answered, self._reported, self._since = True, False, 0.0
        return document

    def absence(self) -> str:
        """Returns a line about a service that does not answer; empty if it does."""
        if not self._since:
            return ""
        seconds = time.monotonic() - self._since
        return f"the service has not answered for {seconds:.0f} s{self._why}; jobs go on, and this waits for it"

    def report_absence(self) -> None:
        """Prints one line on standard error in each absence."""
        if not self._reported:
            self._reported = True
            complain("jitc", f"the service does not answer{self._why}; jobs go on, and this command waits for it")
