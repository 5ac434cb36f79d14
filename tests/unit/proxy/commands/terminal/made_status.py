"""Made-up documents of a status, and what tables of it must say. Called by: tests of this folder."""

from __future__ import annotations

import copy
import io
import re
from typing import Any

from rich.cells import cell_len
from rich.console import Console, RenderableType
from toolkit.documents import example

WIDTHS = (40, 80, 120)
#: Words of the plain text that a table says by its heads, or by the order of its cells.
_SAID_OTHERWISE = {"of", "rank", "ranks", "job", "on", "recovery", "recoveries", "s", "restored", "spare", "boundary"}


def busy() -> dict[str, Any]:
    """A node on which everything happens at once: two jobs, a spare GPU that serves, turns, races, a wait."""
    found: dict[str, Any] = example("jitc status --json")
    (first,) = found["gpus"]
    second, third = copy.deepcopy(first), copy.deepcopy(first)
    second |= {"index": 1, "state": "recovering", "recoveries": 12}
    second["sessions"][0] |= {
        "pid": 4801, "rank": 1, "worker_pid": None, "state": "fenced", "host": 2, "diverged": 4, "races": 1,
        "waiting_for": "communicator of 4 ranks: rank 2, 3 missing",
        "turns": {"moved_out": 3, "bytes": 5, "seconds": 0.25, "waits": True},
    }  # fmt: skip
    third |= {"index": 2, "spare": True, "state": "ready", "recoveries": 0}
    third["sessions"][0] |= {"pid": 4999, "job": "alone", "rank": -1, "world_size": 0, "host": 2, "ops_executed": 5}
    return found | {"gpus": [first, second, third], "shuffle": 7}


def hostile_status(text: str) -> dict[str, Any]:
    """Every text of a status is this one."""
    found = busy()
    for gpu in found["gpus"]:
        gpu |= {"device": text, "state": text}
        for session in gpu["sessions"]:
            session |= {"job": text, "state": text, "waiting_for": text}
    return found


def drawn(picture: RenderableType, width: int, colour: bool = False) -> list[str]:
    """The lines on a terminal, none of which is wider."""
    file = io.StringIO()
    system = "standard" if colour else None
    console = Console(file=file, force_terminal=True, color_system=system, width=width, height=50)  # type: ignore[arg-type]
    console.print(picture)
    lines = file.getvalue().split("\n")
    assert lines.pop() == ""
    assert max(cell_len(without_codes(one)) for one in lines) <= width
    return lines


def without_codes(text: str) -> str:
    """The text without the codes of colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def words(text: str) -> set[str]:
    """What a text says: words, numbers, sizes, addresses."""
    return set(re.findall(r"[\w.:'-]*\w", text)) - _SAID_OTHERWISE
