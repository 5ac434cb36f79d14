"""The numbers of nodes, of which those of their sessions are made (../ranks/numbers.py).

Called by: membership.py. Promises: a node's number is its own, also after a restart, and no number is given twice while
a job has sessions of it; a number whose sessions have ended without a word is known as a former one, so that its node
can say so for them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..ranks.numbers import NODE_MOST, node_of
from . import keys
from .entries import JobEntry, Meeting
from .nodes import BEGIN_SECONDS, NodeRecord, ask, taken_by
from .store.engine import Change, Engine, Entry, StoreError, Swapped

#: Former numbers of a node that are known: the node has said of older ones that their sessions have ended.
FORMER_MOST = 16


class NameTaken(StoreError):
    """Another service has this node's name."""


class Numbers(NamedTuple):
    """A node's number, and those that it has had: their sessions have ended."""

    own: int
    former: tuple[int, ...] = ()


def claimed_numbers(engine: Engine, name: str, say: Callable[[str], None], wait: Callable[[float], Any]) -> Numbers:
    """Returns the node's number, a new one the first time. Waits for the store for a while, which `say` is told once.

    Raises CannotJoin."""
    return ask(lambda: _claim(engine, name), BEGIN_SECONDS, say, wait)


def _claim(engine: Engine, name: str) -> Numbers | None:
    """Returns the node's numbers; None: ask again. Raises StoreError, Malformed.

    No number twice for sessions that others may take for one: so a node has another number than before where jobs have
    sessions of that one, which ended without a word, or if another node came first after the store was wiped."""
    places = f"{keys.NUMBERS}{name}", f"{keys.FORMER}{name}", keys.LAST_NUMBER
    own, former, last = (engine.get(key) for key in places)
    running, with_sessions, given = _running(engine, name), _with_sessions(engine), _given(engine, name)
    before, had = keys.number_in(places[0], own, NODE_MOST), _former(places[1], former)
    if before and before not in running | with_sessions:
        return Numbers(before, had)
    if before in with_sessions and (there := engine.get(f"{keys.NODES}{name}")) is not None:
        raise NameTaken(taken_by(name, there))  # whose sessions they are, unless its lease is about to end
    number = keys.number_in(places[2], last, NODE_MOST - 1) + 1
    while number in running | with_sessions:
        number += 1
    if before and before not in running | given:
        had = (*had, before)[-FORMER_MOST:]
    values = str(number).encode(), keys.encoded({"numbers": had}), str(number).encode()
    changes = [
        Change(key, entry.revision if entry is not None else 0, value)
        for key, entry, value in zip(places, (own, former, last), values, strict=True)
    ]
    return Numbers(number, had) if isinstance(engine.compare_and_swap(changes), Swapped) else None


def _former(key: str, entry: Entry | None) -> tuple[int, ...]:
    """Raises Malformed."""
    found = keys.decoded(key, entry).get("numbers") if entry is not None else []
    if not isinstance(found, list) or not all(type(one) is int and 0 < one <= NODE_MOST for one in found):
        raise keys.Malformed(f"{key} in the store is not what jitc writes there; remove it, or use another store")
    return tuple(found[-FORMER_MOST:])


def _running(engine: Engine, name: str) -> set[int]:
    """Returns the numbers of the other nodes whose services run. Raises StoreError."""
    found = set[int]()
    for other, entry in _others(engine, keys.NODES, name).items():
        with contextlib.suppress(keys.Malformed):
            found.add(NodeRecord.decoded(f"{keys.NODES}{other}", entry).number)
    return found


def _given(engine: Engine, name: str) -> set[int]:
    """Returns the numbers that other nodes have. Raises StoreError."""
    found = set[int]()
    for other, entry in _others(engine, keys.NUMBERS, name).items():
        with contextlib.suppress(keys.Malformed):
            found.add(keys.number_in(f"{keys.NUMBERS}{other}", entry, NODE_MOST))
    return found


def _others(engine: Engine, prefix: str, name: str) -> Mapping[str, Entry]:
    found = keys.below(engine.list(prefix), prefix)
    return {other: entry for other, entry in found.items() if other != name}


def _with_sessions(engine: Engine) -> set[int]:
    """Returns the numbers of all nodes that have sessions in jobs. Raises StoreError."""
    found = set[int]()
    for key, entry in engine.list(keys.JOBS).entries.items():
        with contextlib.suppress(keys.Malformed):
            found |= {node_of(session) for session in JobEntry.decoded(key, entry).sessions}
    for key, entry in engine.list(keys.COMMUNICATORS).entries.items():
        with contextlib.suppress(keys.Malformed):
            found |= {node_of(session) for session in Meeting.decoded(key, entry).seats.values()}
    return found
