"""`jitc status --watch`: the status again and again, on a terminal in the same place.

Called by: ../questions/command.py. Promises: on a terminal the newest picture stays when the command ends, below what
was there before, and the cursor is visible; while the command is stopped (Ctrl-Z), the terminal is as it was; elsewhere
each answer is printed as without `--watch`, after an empty line; a service that is restarted does not end it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jitc.v1.control_pb2 import StatusRequest

from ..questions.nodes import Whom
from ..questions.text import status
from .asking import Asking
from .colour import can_redraw, console, size
from .signals import Ended, Signals

if TYPE_CHECKING:
    from rich.console import Console


def watch(whom: Whom, every: float, color: str, as_json: bool) -> int:
    """Returns the exit status, which names the signal that ended it. Raises CommandError if no service answers."""
    try:
        with Signals() as signals:
            asking = Asking(whom, signals)
            screen = None if as_json else console(color)
            if screen is not None and can_redraw():
                return _redraw(screen, every, asking, signals)
            return _print(_printer(screen, as_json), every, asking, signals)
    except Ended as end:
        return end.code


def _printer(screen: Console | None, as_json: bool) -> Callable[[Any, bool], None]:
    """Returns what prints a document; the flag says whether it is the first."""
    if as_json:
        return lambda document, first: print(json.dumps(document, separators=(",", ":")))
    if screen is None:
        return lambda document, first: print("" if first else "\n", status(document), sep="")

    def tables(document: Any, first: bool) -> None:
        from .tables import status as picture

        if not first:
            screen.line()
        screen.print(picture(document))

    return tables


def _print(show: Callable[[Any, bool], None], every: float, asking: Asking, signals: Signals) -> int:
    first = True
    while True:
        began = time.monotonic()
        document = asking.ask("Status", StatusRequest())
        if document is None:
            asking.report_absence()
        else:
            signals.write(lambda document=document, first=first: show(document, first))  # type: ignore[misc]
            first = False
        signals.wait(began + every - time.monotonic())


def _redraw(screen: Console, every: float, asking: Asking, signals: Signals) -> int:
    from rich.live import Live

    from .picture import Picture

    began = time.monotonic()
    picture = Picture(asking.ask("Status", StatusRequest()))
    live = Live(
        picture, console=screen, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
    )  # fmt: skip

    def leave() -> None:
        screen.set_alt_screen(False)
        screen.show_cursor(True)

    def enter() -> None:
        screen.size = size()
        screen.set_alt_screen(True)
        screen.show_cursor(False)
        live.refresh()

    try:
        with live, signals.suspendable(leave, enter):
            while True:
                signals.wait(began + every - time.monotonic())
                began = time.monotonic()
                document = asking.ask("Status", StatusRequest())
                picture = Picture(document or picture.document, asking.absence())
                screen.size = size()
                live.update(picture, refresh=True)
    finally:
        screen.print(picture.whole())
