"""Asks a service again and again; once it has answered, its absence is no error.

Called by: watch.py, follow.py. Promises: a service that never answered is an error as for any other command, which
waits for one that begins; later, its absence is reported once, or can be shown in a line; restarts of the service go
unnoticed if they are short.
"""

from __future__ import annotations

import time
from typing import Any

from ..options import NO_SERVICE, CommandError, complain
from ..questions.nodes import NodeSilent, Whom
from .signals import Signals


class Asking:
    """Services, over all their restarts: also while one is away, another one is not asked instead."""

    def __init__(self, whom: Whom, signals: Signals) -> None:
        self._whom, self._signals = whom.chosen(), signals
        self._answered = self._reported = False
        self._since = 0.0
        self._why = ""

    def ask(self, method: str, request: Any) -> Any:
        """Returns the document; None: there is no answer at present. Raises CommandError if there never was one."""
        began = time.monotonic()
        try:
            with self._signals.interruptible():
                document = self._whom.document(method, request, waits=not self._answered)
        except CommandError as error:
            if not self._answered:
                raise
            self._since = self._since or began
            told = error.code != NO_SERVICE or isinstance(error, NodeSilent)
            self._why = f" ({error})" if told else ""
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
