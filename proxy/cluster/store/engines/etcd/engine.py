"""The engine that reaches etcd: its verbs as requests of etcd's API.

Called by: ../../opening.py. Promises: those of engine.py: reads are linearizable, a write is one transaction.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from jitc.etcd import rpc_pb2

from ...clock import Clock
from ...engine import (
    ENTRIES_MOST,
    LEASE_SECONDS,
    Change,
    Conflict,
    Entry,
    Lease,
    Member,
    Outcome,
    Refused,
    State,
    Swapped,
    Unknown,
    Unreachable,
    check_changes,
    check_key,
    check_prefix,
    without_lease,
)
from ...locations import Address, Options
from ...recipes import Recipes
from .calls import Calls, Link, NoLease, keep_alive
from .errors import Failure
from .files import Files
from .outage import Outage
from .records import entries_of, entry_of, lease_number, prefix_request, request_of, transaction
from .revisions import Revisions
from .watch import EtcdWatch


class EtcdEngine(Recipes):
    """An engine over the members of one etcd."""

    def __init__(
        self,
        addresses: Sequence[Address],
        options: Options,
        clock: Clock,
        report: Callable[[str], None],
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        """Raises ValueError if a file of the options cannot be read. etcd has no leases of less than 2 s."""
        super().__init__(lease_seconds)
        self.clock = clock
        files, outage = Files(options, report), Outage(clock, report)
        self._calls = Calls(addresses, options, self._read_again, files, outage)
        self._report = report
        self._revisions = Revisions(self._lost)

    def get(self, key: str) -> Entry | None:
        check_key(key)
        found, base = self._read(request_of(key))
        return entry_of(found.kvs[0], base) if found.kvs else None

    def list(self, prefix: str) -> State:
        return self.read_all(prefix)[0]

    def read_all(self, prefix: str) -> tuple[State, int]:
        """Returns what `list` does, and the base of its revisions."""
        check_prefix(prefix)
        found, base = self._read(prefix_request(prefix, ENTRIES_MOST))
        if found.more:
            raise Refused(f"there are more than {ENTRIES_MOST:,} entries under {prefix}")
        return State(entries_of(found.kvs, base), base + found.header.revision, base), base

    def compare_and_swap(self, changes: Sequence[Change]) -> Outcome:
        check_changes(changes)
        if outcome := without_lease(changes):
            return outcome
        mark = self._revisions.mark()
        try:
            found = self._calls.ask(lambda stubs: stubs.kv.Txn, transaction(changes, mark), once=True)
        except (Unreachable, NoLease) as error:
            return Unknown(str(error))
        base = self._revisions.take(mark, found.header.revision)
        if base != mark.base:
            return Unknown("the store was wiped: revisions of before mean other entries by now")
        if found.succeeded:
            return Swapped(base + found.header.revision)
        kept = entries_of((kv for one in found.responses for kv in one.response_range.kvs), base)
        return Conflict({one.key: kept.get(one.key) for one in changes})

    def watch(self, prefix: str, changed: Callable[[State], None]) -> EtcdWatch:
        check_prefix(prefix)

        def seen(state: State) -> None:
            self._revisions.note(state.begun, state.revision - state.begun)
            changed(state)

        watch = EtcdWatch(self._calls, lambda: self.read_all(prefix), prefix, self.clock, seen)
        self._run(watch)
        watch.start()
        return watch

    def grant(self, seconds: float) -> Lease:
        request = rpc_pb2.LeaseGrantRequest(TTL=math.ceil(seconds))
        found = self._calls.ask(lambda stubs: stubs.lease.LeaseGrant, request)
        return Lease(f"{found.ID:x}", float(found.TTL))

    def renew(self, lease: str) -> float:
        try:
            request = rpc_pb2.LeaseKeepAliveRequest(ID=lease_number(lease))
        except ValueError:  # of a store of another kind, before a restart
            return 0.0
        return float(max(self._calls.ask(keep_alive, request).TTL, 0))

    def revoke(self, lease: str) -> None:
        try:
            self._calls.ask(lambda stubs: stubs.lease.LeaseRevoke, rpc_pb2.LeaseRevokeRequest(ID=lease_number(lease)))
        except NoLease:  # it is over already
            return

    def members(self) -> Sequence[Member]:
        links = self._calls.links
        with ThreadPoolExecutor(len(links), "jitc-members") as pool:
            return list(pool.map(self._member, links))

    def close(self) -> None:
        self._close_running(self._calls.close)

    def _read(self, request: Any) -> tuple[Any, int]:
        """Returns the answer, and the base of its revisions."""
        mark = self._revisions.mark()
        found = self._calls.ask(lambda stubs: stubs.kv.Range, request)
        return found, self._revisions.take(mark, found.header.revision)

    def _lost(self, text: str) -> None:
        self._report(text)
        self._read_again()

    def _read_again(self) -> None:
        """Lets watches follow where calls are made: a member that does not answer ends no stream for a while."""
        for one in self._all_running():
            if isinstance(one, EtcdWatch):
                one.read_again()

    def _member(self, link: Link) -> Member:
        began = time.monotonic()
        try:
            found = self._calls.answer(link, lambda stubs: stubs.maintenance.Status, rpc_pb2.StatusRequest())
        except Failure as failure:
            return Member(str(link.address), "", False, str(failure))
        leads, seconds = found.leader == found.header.member_id, time.monotonic() - began
        return Member(str(link.address), found.version, leads, "; ".join(found.errors), seconds)
