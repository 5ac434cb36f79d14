"""`jitc report --follow`: each recovery as it ends, with its proof.

Called by: ../questions/command.py. Promises: the recoveries that the service knows are printed first, the oldest first;
each is printed once, when its proof is no longer pending, over all restarts of the service; the service is asked for
its report only if something may have changed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from jitc.v1.control_pb2 import ReportRequest, StatusRequest

from ...recovery.report import PENDING
from ..questions.nodes import Whom
from ..questions.text import recovery
from ..questions.users import named, several_users
from .asking import Asking
from .colour import console
from .signals import Ended, Signals

if TYPE_CHECKING:
    from rich.console import Console

#: Seconds between two questions; between two reports if nothing seems to have changed; and for how long a proof that
#: is pending is asked for with each question: usually it takes no longer.
_EVERY, _SELDOM, _OFTEN = 0.5, 5.0, 10.0

Document = Mapping[str, Any]
#: Prints a recovery with its number; the flag says whether the report has jobs of several users.
Show = Callable[[int, Document, bool], None]


class Followed:
    """The recoveries that were seen, by what does not change when a service hands its reports to the next one."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._pending: dict[tuple[Any, ...], Document] = {}
        self._count = 0

    @property
    def pending(self) -> bool:
        return bool(self._pending)

    def take(self, recoveries: Iterable[Document]) -> list[tuple[int, Document]]:
        """Takes a report. Returns the recoveries to be printed now, with their numbers; one that the service no longer
        has is printed with what was known of it."""
        present = {(one["time"], one["job"], one.get("began")): one for one in recoveries}
        for key, one in present.items():
            if key not in self._numbers:
                self._count += 1
                self._numbers[key] = self._count
                self._pending[key] = one
            elif key in self._pending:
                self._pending[key] = one
        due = [key for key, one in self._pending.items() if key not in present or not _waits(one)]
        found = sorted((self._numbers[key], self._pending.pop(key)) for key in due)
        self._numbers = {key: number for key, number in self._numbers.items() if key in present}
        return found


def _waits(one: Document) -> bool:
    return bool(one.get("proof", {}).get("state") == PENDING)


def follow(whom: Whom, color: str, as_json: bool) -> int:
    """Returns the exit status, which names the signal that ended it. Raises CommandError if no service answers."""
    try:
        with Signals() as signals:
            show = _printer(None if as_json else console(color), as_json)
            _rounds(Asking(whom, signals), signals, show)
    except Ended as end:
        return end.code
    return 0


def _printer(screen: Console | None, as_json: bool) -> Show:
    if as_json:
        return lambda number, one, several: print(json.dumps(one, separators=(",", ":")))
    if screen is None:
        return lambda number, one, several: print(recovery(number, named(one) if several else one))
    from .colour import size
    from .recoveries import single

    def lines(number: int, one: Document, several: bool) -> None:
        screen.size = size()
        screen.print(single(number, named(one) if several else one))

    return lines


def _rounds(asking: Asking, signals: Signals, show: Show) -> None:
    followed = Followed()
    known: Any = None  # what the status said at the newest report
    looked = changed = float("-inf")
    while True:
        status = asking.ask("Status", StatusRequest())
        now = time.monotonic()
        state = status and (status["started"], [gpu["recoveries"] for gpu in status["gpus"]])
        changed = now if state and state != known else changed
        soon = followed.pending and now - changed < _OFTEN
        if state and (state != known or soon or now - looked >= _SELDOM):
            report = asking.ask("Report", ReportRequest())
            if report is not None:
                known, looked = state, now
                several = several_users(report)
                for number, one in followed.take(report["recoveries"]):
                    signals.write(partial(show, number, one, several))
        if asking.absence():
            asking.report_absence()
        signals.wait(_EVERY)
