"""Guards the keeper against its connections: an exception ends one of them, no more.

Called by: server.py and programs.py, for everything that the keeper does because of a descriptor. Promises: no
exception leaves guarded(), and each is one line on standard error, however long or strange the text; a source of
exceptions cannot fill the log.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

#: Signs of a text of somebody else's that are shown.
SHOWN = 200
#: Lines of this kind in a row, and how long none comes after them.
LINES, QUIET_SECONDS = 20, 10.0


def shown(text: object) -> str:
    """Returns anything as printable characters, truncated to a readable length."""
    whole = repr(text)
    return whole if len(whole) <= SHOWN else whole[:SHOWN] + "..."


class Lines:
    """Lines on standard error, limited to a few in a short time."""

    def __init__(self) -> None:
        self._left, self._begun, self._dropped = LINES, time.monotonic(), 0

    def say(self, text: str) -> None:
        now = time.monotonic()
        if now - self._begun > QUIET_SECONDS:
            text += f" ({self._dropped} lines like this were left out)" if self._dropped else ""
            self._left, self._begun, self._dropped = LINES, now, 0
        if self._left:
            self._left -= 1
            print(f"jitc-keeper: {text}", file=sys.stderr, flush=True)
        else:
            self._dropped += 1


_lines = Lines()


def complain(text: str) -> None:
    """Prints a line on standard error, unless there were too many."""
    _lines.say(text)


def guarded(what: str, act: Callable[[], None], end: Callable[[], None] = lambda: None) -> Callable[[], None]:
    """Calls act, and end after an exception; what: names whose end that is, for the line."""

    def run() -> None:
        try:
            act()
        except Exception as error:
            complain(f"{what}: {shown(error)}")
            try:
                end()
            except Exception as another:
                complain(f"{what} cannot be ended: {shown(another)}")

    return run
