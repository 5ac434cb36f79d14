"""`jitc status` as tables: the GPUs, the sessions of each job, and the memory for copies.

Called by: colour.py, watch.py. Promise: all that the plain text says is there, at any width.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from ..questions.text import copies, session_notes, silent, size, waits
from ..questions.users import with_users
from .grid import Column, Grid, Row, line, shown

_GOOD, _BAD = ("ready", "serving"), ("failed", "lost")
_NODE = Column("node")
_GPUS = (
    Column("GPU", right=True), Column("device", leaves=1), Column("state"), Column("memory", leaves=3, least=24),
    Column("recoveries", right=True, leaves=2), Column("spare", leaves=4), Column("serves", least=8, leaves=1),
)  # fmt: skip
_SESSIONS = (
    Column("rank"), Column("pid", right=True, leaves=2), Column("GPU", right=True), Column("state"),
    Column("boundary", right=True), Column("copies", right=True, leaves=3), Column("journal", right=True, leaves=4),
    Column("ops", right=True, leaves=5), Column("worker", right=True, leaves=6),
)  # fmt: skip


def status(document: Mapping[str, Any]) -> RenderableType:
    """Returns the whole picture."""
    document = with_users(document)
    parts: list[RenderableType] = [line(f"shuffled with seed {document['shuffle']}")] if document["shuffle"] else []
    gpus = document["gpus"]
    columns = [[_NODE, *some] if document.get("nodes") else some for some in (_GPUS, _SESSIONS)]
    if gpus:
        parts += [Grid(columns[0], [_on_node(_gpu(one, gpus), one, columns[0]) for one in gpus]), Text()]
    for job, sessions in _jobs(gpus).items():
        rows = [_on_node(_session(gpu, session), session, columns[1]) for gpu, session in sessions]
        parts += [Text.assemble(("job ", "bold"), shown(job, "bold")), Grid(columns[1], rows, notes="notes"), Text()]
    return Group(*parts, *(line(one, "red") for one in silent(document)), line(copies(document)))


def _on_node(row: Row, one: Mapping[str, Any], columns: Sequence[Column]) -> Row:
    """Returns the row of a GPU or session, with its node if there is a column for it."""
    return Row([shown(one["node"]), *row.cells], row.notes) if columns[0] is _NODE else row


def _gpu(gpu: Mapping[str, Any], gpus: list[dict[str, Any]]) -> Row:
    memory = f"{size(gpu['memory_used'])} of {size(gpu['memory_total'])}"
    here = [one for one in gpus if one.get("node") == gpu.get("node")]
    cells = (
        shown(gpu["index"]), shown(gpu["device"]), _state(gpu["state"]), shown(memory), shown(gpu["recoveries"]),
        shown("yes" if gpu["spare"] else ""), shown(_served(gpu["index"], here)),
    )  # fmt: skip
    return Row(cells)


def _served(index: int, gpus: list[dict[str, Any]]) -> str:
    """Names the ranks that a GPU serves, by job if the node has several."""
    served: dict[str, list[str]] = {}
    jobs = _jobs(gpus)
    for job, sessions in jobs.items():
        for _, session in sessions:
            if session["host"] == index:
                name = f"rank {session['rank']}" if session["rank"] >= 0 else f"pid {session['pid']}"
                served.setdefault(job, []).append(name)
    by_job = (f"{job}: {', '.join(names)}" if len(jobs) > 1 else ", ".join(names) for job, names in served.items())
    return "; ".join(by_job)


def _jobs(gpus: list[dict[str, Any]]) -> dict[str, list[tuple[int, dict[str, Any]]]]:
    """Returns the sessions of each job, each with its own GPU, in the order of ranks."""
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for gpu in gpus:
        for session in gpu["sessions"]:
            found.setdefault(session["job"], []).append((gpu["index"], session))
    return {job: sorted(some, key=lambda one: (one[1]["rank"], one[0])) for job, some in found.items()}


def _session(gpu: int, session: Mapping[str, Any]) -> Row:
    rank = f"{session['rank']} of {session['world_size']}" if session["rank"] >= 0 else "no rank"
    cells = (
        shown(rank), shown(session["pid"]), shown(gpu), _state(session["state"]), shown(session["boundary"]),
        shown(size(session["copies_held_bytes"])), shown(size(session["journal_bytes"])),
        shown(session["ops_executed"]), shown(session["worker_pid"] or "none"),
    )  # fmt: skip
    return Row(cells, list(_notes(gpu, session)))


def _notes(gpu: int, session: Mapping[str, Any]) -> Iterator[Text]:
    """Returns a line about what a session waits for, and one with everything else that is unusual."""
    yield from (shown(one, "yellow") for one in waits(session))
    bad = session["diverged"] or session["races"]
    others = [shown(one, "red" if bad else "") for one in session_notes(session)]
    if session["host"] != gpu:
        others.insert(0, shown(f"served on GPU {session['host']}", "yellow"))
    if others:
        yield Text("; ").join(others)


def _state(state: str) -> Text:
    return shown(state, "green" if state in _GOOD else "red" if state in _BAD else "yellow")
