"""Checks of the store of a cluster: who answers, what it complains of, how long it takes, and what this node may do.

Called by: ../command.py; nodes.py, for what stands in it. Promise: nothing in the store is changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...cluster import store as of_store
from ...cluster.store import StoreSeen
from ..check import Check, Context, Finding, bad, good, unknown
from . import this_node

if TYPE_CHECKING:
    from ....cluster.store.engine import Member

#: A read takes usually a few milliseconds; from here on a lease (5 s, renewed three times) may be lost to a busy disk.
SLOW_SECONDS = 0.3
_RUNS = "see whether etcd runs there and its port is open to this machine"
#: Alarms of etcd's, as its members say them.
_ALARMS = {
    "NOSPACE": "compact and defragment etcd, then `etcdctl alarm disarm`",
    "CORRUPT": "its members have different data: restore one from a backup",
}


def seen(context: Context) -> StoreSeen | None:
    """Returns what is seen of the store; None: there is no cluster."""
    found: StoreSeen | None = context.once(_seen)
    return found


def _seen(context: Context) -> StoreSeen | None:
    one = this_node.of(context)
    return of_store.look(one) if one is not None else None


def readable(context: Context) -> StoreSeen | None:
    """Returns what is seen of the store; None: it could not be read, as the check of it says."""
    found = seen(context)
    return None if found is None or found.trouble else found


def store(context: Context) -> Finding | None:
    found = seen(context)
    return None if found is None else of_store_seen(found)


def of_store_seen(found: StoreSeen) -> Finding:
    if found.trouble:
        return bad(found.trouble, found.remedy)
    text = f"a read takes {found.seconds * 1e3:.1f} ms"
    if found.write_trouble:
        return bad(f"{text}, and this node cannot write: {found.write_trouble}", found.remedy)
    if found.seconds > SLOW_SECONDS:
        return unknown(f"{text}: nodes may lose their leases", "give etcd a quick disk and a near place")
    return good(f"{text}, and this node may write")


def members(context: Context) -> Finding | None:
    found = seen(context)
    return None if found is None or not found.members else of_members(found.members)


def of_members(found: tuple[Member, ...]) -> Finding:
    """Says a bad word of a member that is away although the store answers: it lives with less than it was given."""
    text = "; ".join(_of_member(one) for one in found)
    for alarm, remedy in _ALARMS.items():
        if any(alarm in one.trouble for one in found):
            return bad(text, remedy)
    if any(one.trouble for one in found):
        return bad(text, _RUNS)
    if not any(one.leads for one in found):
        return unknown(f"{text}; none of them leads", "name all members in --cluster, or see etcd's own log")
    return good(text)


def _of_member(one: Member) -> str:
    if not one.version:
        return f"{one.address}: {one.trouble}"
    leads = ", leads" if one.leads else ""
    trouble = f", {one.trouble.strip()}" if one.trouble else ""
    return f"{one.address}: etcd {one.version}{leads}, {one.seconds * 1e3:.0f} ms{trouble}"


CHECKS = (Check("store", store), Check("members", members))
