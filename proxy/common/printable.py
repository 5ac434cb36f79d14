"""Foreign text (programs' names, what strangers send) for a log or a terminal: one line of limited length.

Called by: code that prints or reports text from a program, an environment or a connection. Promise: the result has only
printable characters, so that it can neither end a line nor steer a terminal; truncation and escapes are visible.
"""

from __future__ import annotations

#: Signs that are shown of one text.
MOST = 300
#: Of a whole line that has such texts in it.
LINE = 10_000


def printable(text: str, most: int = MOST) -> str:
    """Returns the text with unprintable characters escaped."""
    shown = "".join(one if one.isprintable() else _escape(one) for one in text[: most + 1])
    return shown if len(text) <= most and len(shown) <= 2 * most else shown[:most] + "..."


def _escape(one: str) -> str:
    return one.encode("unicode_escape", "backslashreplace").decode("ascii")
