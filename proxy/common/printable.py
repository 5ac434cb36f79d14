"""Texts of others (programs' names, what strangers send) for a log or a terminal: one line, and not a long one.

Called by: whoever prints or reports what a program, an environment or a connection has said. Promise: the result has
printable signs alone, so that it can neither end a line nor steer a terminal; what is cut off or escaped is seen to be.
"""

from __future__ import annotations

#: Signs that are shown of one text.
MOST = 300
#: Of a whole line that has such texts in it.
LINE = 10_000


def printable(text: str, most: int = MOST) -> str:
    """The text with whatever is not printable as an escape."""
    shown = "".join(one if one.isprintable() else _escape(one) for one in text[: most + 1])
    return shown if len(text) <= most and len(shown) <= 2 * most else shown[:most] + "..."


def _escape(one: str) -> str:
    return one.encode("unicode_escape", "backslashreplace").decode("ascii")
