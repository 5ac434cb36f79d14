"""Looks at a cluster's store: its members, and the nodes that stand in it.

Called by: command.py (`show`), ../doctor/cluster. Promises: nothing in the store is changed; an answer, or the lack of
one, comes within SECONDS; a store that cannot be used has a text, which is no error here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .asked import Asked
from .limited import Late, within

if TYPE_CHECKING:
    from ...cluster.nodes import NodeRecord
    from ...cluster.store.engine import Engine, Member, State

#: Until everything must have been seen.
SECONDS = 8.0
_RUNS = "see whether etcd runs there and its port is open to this machine; check --cluster"
_NEVER = 1 << 62  # a revision that no entry has


@dataclass(frozen=True)
class StoreSeen:
    """A store. trouble: why it cannot be read, write_trouble: why not written; empty: it can. remedy: what to do."""

    members: tuple[Member, ...] = ()
    trouble: str = ""
    write_trouble: str = ""
    remedy: str = ""
    seconds: float = 0.0  # for a read that its members agree on
    nodes: Mapping[str, NodeRecord] = field(default_factory=dict)
    #: Texts about entries that are no nodes, and names of nodes whose entries nothing ends.
    malformed: tuple[str, ...] = ()
    unleased: tuple[str, ...] = ()


def look(asked: Asked) -> StoreSeen:
    """Returns what is seen of the store."""
    try:
        return within(SECONDS, lambda: _look(asked))
    except Late:
        return StoreSeen(trouble=f"not everything was answered within {SECONDS:g} s: it was left", remedy=_RUNS)


def _look(asked: Asked) -> StoreSeen:
    from ...cluster.store.engine import Refused, StoreError
    from ...cluster.store.opening import open_engine

    try:
        engine = open_engine(asked.store, asked.options, report=lambda _: None)
    except ValueError as error:
        return StoreSeen(trouble=str(error), remedy="correct the option, or the variable that gives it")
    members: tuple[Member, ...] = ()
    try:
        members = tuple(engine.members())
        began = time.monotonic()
        state = _nodes(engine)
        seconds = time.monotonic() - began
        nodes, malformed, unleased = _read(state)
        return StoreSeen(members, "", *_refusal(engine, asked.node), seconds, nodes, malformed, unleased)
    except Refused as error:
        trouble, remedy = _said(str(error))
        return StoreSeen(members, trouble, remedy=remedy)
    except StoreError as error:
        return StoreSeen(members, str(error), remedy=_RUNS)
    finally:
        engine.close()


def _said(refusal: str) -> tuple[str, str]:
    """Returns what the store says, and what to do: the texts of its refusals have both."""
    trouble, _, remedy = refusal.partition(": ")
    return trouble, remedy or "see etcd's own log"


def _nodes(engine: Engine) -> State:
    from ...cluster import keys

    return engine.list(keys.NODES)


def _refusal(engine: Engine, node: str) -> tuple[str, str]:
    """Returns why the store takes no entry of this node, and what to do; empty: it would. The change that is asked for
    expects what cannot be, so it is never made."""
    from ...cluster import keys
    from ...cluster.store.engine import Change, Refused, StoreError, Unknown

    try:
        outcome = engine.compare_and_swap([Change(f"{keys.NODES}{node}", _NEVER, b"")])
    except Refused as error:
        return _said(str(error))
    except (StoreError, ValueError) as error:
        return str(error), _RUNS
    return (outcome.why, _RUNS) if isinstance(outcome, Unknown) else ("", "")


def _read(state: State) -> tuple[dict[str, NodeRecord], tuple[str, ...], tuple[str, ...]]:
    """Returns nodes by name, texts about entries that are none, and names of those without a lease."""
    from ...cluster import keys
    from ...cluster.nodes import NodeRecord

    nodes, malformed, unleased = {}, [], []
    for name, entry in sorted(keys.below(state, keys.NODES).items()):
        try:
            nodes[name] = NodeRecord.decoded(f"{keys.NODES}{name}", entry)
        except keys.Malformed as error:
            malformed.append(str(error))
        if not entry.lease:
            unleased.append(name)
    return nodes, tuple(malformed), tuple(unleased)
