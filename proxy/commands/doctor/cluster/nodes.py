"""Checks of the nodes that stand in the store: whether they fit this one and each other, and whether they answer.

Called by: ../command.py. Promise: clocks of nodes are compared for a note alone: nothing of jitc depends on them but
the time for which a certificate is valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...cluster import nodes as of_nodes
from ...cluster.nodes import NodeSeen
from ...cluster.store import StoreSeen
from ..check import Check, Context, Finding, bad, good, unknown
from . import this_node
from .store import readable

if TYPE_CHECKING:
    from ....cluster.nodes import NodeRecord
    from ...cluster.asked import Asked

#: From here on a difference of clocks is named: certificates begin an hour before they are made.
CLOCK_SECONDS = 60.0
#: Nodes, or troubles of them, that one line names.
_NAMED = 8
_LOOPBACK = ("127.", "[::1]", "localhost:")
_NONE = "no service of a node runs"


def nodes(context: Context) -> Finding | None:
    found, one = readable(context), this_node.of(context)
    return None if found is None or one is None else of_nodes_seen(found, one)


def of_nodes_seen(found: StoreSeen, own: Asked) -> Finding:
    if found.malformed:
        return bad(_named(found.malformed), "remove these entries with etcdctl, or use another store")
    if found.unleased:
        names = ", ".join(found.unleased[:_NAMED])
        return bad(f"the entries of {names} have no lease: nothing ends them", "remove them with etcdctl")
    if hidden := _hidden(found.nodes, own):
        return bad(_named(hidden), "give each node an address that the others reach (--peer-address)")
    if twins := _twins(found.nodes):
        return bad(_named(twins), "give each node addresses of its own (--peer-address, --bridge-address)")
    if another := _another(found.nodes, own):
        return bad(another, "end that service, or give the one of this machine another name with --node")
    text = ", ".join(f"{name} (number {one.number}, {one.peer})" for name, one in list(found.nodes.items())[:_NAMED])
    more = f" and {len(found.nodes) - _NAMED} more" if len(found.nodes) > _NAMED else ""
    return good(f"{text}{more}" if found.nodes else f"{_NONE}; each is here for as long as its lease")


def _another(nodes: Mapping[str, NodeRecord], own: Asked) -> str:
    """Returns that another machine's node has the name or the address of this one; empty: none has."""
    mine = nodes.get(own.node)
    if mine is not None and own.peer_address and mine.peer != own.peer_address:
        return f"a node {own.node} runs at {mine.peer}, and the one of this machine would be at {own.peer_address}"
    others = [name for name, one in nodes.items() if name != own.node and one.peer == own.peer_address]
    return f"node {others[0]} is at {own.peer_address}, where this one, {own.node}, would be" if others else ""


def _hidden(nodes: Mapping[str, NodeRecord], own: Asked) -> list[str]:
    """Returns texts about nodes with addresses of loopback in a cluster that has others."""
    places = {own.node: own.peer_address, **{name: one.peer for name, one in nodes.items()}}
    alone = {name: place for name, place in places.items() if place.startswith(_LOOPBACK)}
    if all(name in alone for name, place in places.items() if place):
        return []
    return [f"node {name} is at {place}, which is no address for other machines" for name, place in alone.items()]


def _twins(nodes: Mapping[str, NodeRecord]) -> list[str]:
    """Returns texts about addresses that two have."""
    users: dict[str, list[str]] = {}
    for name, one in nodes.items():
        users.setdefault(one.peer, []).append(f"the service of node {name}")
        users.setdefault(one.bridge, []).append(f"the bridge of node {name}")
    return [f"{' and '.join(whose)} have one address, {place}" for place, whose in users.items() if len(whose) > 1]


def versions(context: Context) -> Finding | None:
    found = readable(context)
    if found is None or not found.nodes:
        return None
    if wrong := [text for name, one in found.nodes.items() if (text := of_nodes.differing(name, one))]:
        return bad(_named(wrong), "install one release of jitc on all nodes")
    return good("all nodes have those of this installation")


def _asked(context: Context) -> Mapping[str, NodeSeen]:
    found = readable(context)
    if found is None or not found.nodes:
        return {}
    own = this_node.own_certificate(context)
    return of_nodes.ask(own, found.nodes) if own is not None else {}


def services(context: Context) -> Finding | None:
    found = readable(context)
    if found is None or not found.nodes:
        return None
    seen: Mapping[str, NodeSeen] = context.once(_asked)
    if not seen:
        return unknown("none was asked: this node has no certificate to show", "see above, at certificate")
    return of_services(seen)


def of_services(seen: Mapping[str, NodeSeen]) -> Finding:
    if wrong := [one.trouble for one in seen.values() if one.trouble]:
        return bad(_named(wrong), "see whether its service runs, and its port is open to this machine (a firewall?)")
    each = [f"{name}: {one.seconds * 1e3:.1f} ms" if one.knows else f"{name}: yes" for name, one in seen.items()]
    strange = "" if all(one.knows for one in seen.values()) else "; this node is not in the cluster yet"
    return good(f"all answer with their certificates ({', '.join(each[:_NAMED])}){strange}")


def bridges(context: Context) -> Finding | None:
    seen: Mapping[str, NodeSeen] = context.once(_asked)
    if not seen:
        return None
    if wrong := [one.bridge_trouble for one in seen.values() if one.bridge_trouble]:
        return bad(_named(wrong), "see whether its bridge runs, and the port of --bridge-address is open")
    return good("all show their certificates")


def clocks(context: Context) -> Finding | None:
    seen: Mapping[str, NodeSeen] = context.once(_asked)
    ahead = {name: one.ahead for name, one in seen.items() if one.ahead is not None}
    return of_clocks(ahead) if ahead else None


def of_clocks(ahead: Mapping[str, float]) -> Finding:
    """ahead: seconds by which each node's clock is ahead of the one here."""
    name, most = max(ahead.items(), key=lambda one: abs(one[1]))
    if abs(most) < CLOCK_SECONDS:
        return good(f"at most {abs(most):.1f} s from the one here")
    side = "ahead of" if most > 0 else "behind"
    return unknown(
        f"that of node {name} is {abs(most):.0f} s {side} the one here: jobs do not mind, and a certificate may "
        "be taken for one that is not valid",
        "set the clocks of all nodes by one server of time (NTP)",
    )


def _named(texts: tuple[str, ...] | list[str]) -> str:
    more = f"; and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return "; ".join(texts[:_NAMED]) + more


CHECKS = (
    Check("nodes", nodes), Check("versions", versions), Check("services", services), Check("bridges", bridges),
    Check("clocks", clocks),
)  # fmt: skip
