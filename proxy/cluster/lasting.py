"""Entries of a node that last as long as the store has its data: the node's number, and the name of the store itself.

The first node of a cluster gives the store a name, and each service notes it with its jobs: so the next one knows
whether it finds the store in which they began.

Called by: member.py. Promises: a service with jobs joins no other store than theirs, also not an empty one; what a
running node has there is written again when the store has lost it.
"""

from __future__ import annotations

import re
import secrets
import sys
import threading

from ..common.complaints import Complaints
from ..keeper.log import Log
from ..ranks.numbers import NODE_MOST
from . import keys
from .nodes import BEGIN_SECONDS, CannotJoin, ask
from .store.engine import Change, Engine, Entry, State, StoreError, Swapped, Unknown, Watch

#: In the log: the store's name.
_STORE = "cluster-store"
_NAME = re.compile(rb"[0-9a-f]{32}")
_never = threading.Event()


class Lasting:
    """A node's. where: the store's location, for texts."""

    def __init__(self, engine: Engine, log: Log, node: str, number: int, where: str) -> None:
        self._engine, self._log, self._node, self._number, self._where = engine, log, node, number, where
        self._complaints = Complaints("what this node has in the store")
        self._name: str = log.get(_STORE) or ""
        self._revision = 0  # of the name, when the number was last looked at
        self._watch: Watch | None = None

    def begin(self, has_jobs: bool) -> None:
        """Finds out which store this is, and follows it. has_jobs: this service has some of the one before. Raises
        CannotJoin."""
        known = self._name if has_jobs else ""
        seconds = 0.0 if has_jobs else BEGIN_SECONDS
        self._name = ask(lambda: self._look(known), seconds, self._say, _never.wait)
        self._log.put(_STORE, self._name)
        self._watch = self._engine.watch(keys.STORE, self._see)

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()

    # -- parts ------------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        print(f"jitc-proxyd: node {self._node} {text}", file=sys.stderr, flush=True)

    def _look(self, known: str) -> str:
        """Returns the store's name, a new one if it has none; empty: ask again. Raises StoreError, CannotJoin,
        Malformed."""
        entry = self._engine.get(keys.STORE)
        if known and (entry is None or _name_in(entry) != known):
            raise CannotJoin(
                f"the store at {self._where} is not the one in which the jobs of this service began, or has lost its "
                "data; name theirs with --cluster, or end the jobs first"
            )
        if entry is not None:
            return _name_in(entry)
        name = secrets.token_hex(16)
        outcome = self._engine.compare_and_swap([Change(keys.STORE, 0, name.encode())])
        return name if isinstance(outcome, Swapped) else ""

    def _see(self, state: State) -> None:
        """In the watch's thread, which comes again after StoreError."""
        entry = state.entries.get(keys.STORE)
        try:
            if entry is None:
                self._write_name()
            elif entry.revision != self._revision:
                self._take(_name_in(entry))
                self._revision = entry.revision
        except keys.Malformed as error:
            self._complaints.of(error)

    def _write_name(self) -> None:
        """Writes the name again; if another node was first, the watch brings that one's."""
        outcome = self._engine.compare_and_swap([Change(keys.STORE, 0, self._name.encode())])
        if isinstance(outcome, Unknown):
            raise StoreError(outcome.why)

    def _take(self, name: str) -> None:
        """Takes the name that the store has, and has it know this node's number. Raises StoreError, Malformed."""
        if name != self._name:
            self._name = name
            self._log.put(_STORE, name)
        while changes := self._missing():
            self._engine.compare_and_swap(changes)  # and looks again, whatever became of it

    def _missing(self) -> list[Change]:
        """Returns the changes after which no other node is given this one's number."""
        own, value = f"{keys.NUMBERS}{self._node}", str(self._number).encode()
        entries = {key: self._engine.get(key) for key in (own, keys.LAST_NUMBER)}
        numbers = {key: keys.number_in(key, entry, NODE_MOST) for key, entry in entries.items()}
        wrong = [own] * (numbers[own] != self._number) + [keys.LAST_NUMBER] * (numbers[keys.LAST_NUMBER] < self._number)
        return [Change(key, one.revision if (one := entries[key]) is not None else 0, value) for key in wrong]


def _name_in(entry: Entry) -> str:
    """Raises Malformed."""
    if not _NAME.fullmatch(entry.value):
        raise keys.Malformed(f"{keys.STORE} in the store is no name of a store; remove it, or use another store")
    return entry.value.decode()
