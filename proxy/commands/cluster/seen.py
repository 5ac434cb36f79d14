"""Makes the part of `jitc cluster show` about the store, from what is seen of it and of the nodes in it.

Called by: command.py. Promise: without a certificate of this machine's nodes are listed, and not asked.
"""

from __future__ import annotations

from ...common.printable import printable
from ...status.cluster import Member, Node, Store
from . import nodes
from .asked import Asked
from .nodes import NodeSeen
from .store import StoreSeen, look
from .text import NOT_ASKED


def store(asked: Asked) -> Store:
    """Returns what is seen within the limits of time of store.py and nodes.py."""
    found = look(asked)
    members = [
        Member(
            address=one.address, version=one.version, leads=one.leads, seconds=one.seconds if one.version else None,
            trouble=printable(one.trouble.strip()),
        )
        for one in found.members
    ]  # fmt: skip
    trouble = "; ".join(one for one in (found.trouble or found.write_trouble, *found.malformed) if one)
    seconds = None if found.trouble else found.seconds
    return Store(
        location=asked.store, seconds=seconds, trouble=trouble, members=members, nodes=_nodes(asked, found)
    )  # fmt: skip


def _nodes(asked: Asked, found: StoreSeen) -> list[Node]:
    if not found.nodes:
        return []
    try:
        seen = nodes.ask(nodes.credentials(asked), found.nodes)
    except nodes.NoCredentials as error:
        why = f"{NOT_ASKED}{error}"
        seen = dict.fromkeys(found.nodes, NodeSeen(why, why))
    return [
        Node(
            name=name, number=one.number, peer_address=one.peer, bridge_address=one.bridge, sha256=one.certificate,
            seconds=seen[name].seconds or None, clock_ahead=seen[name].ahead,
            troubles=_troubles(seen[name], nodes.differing(name, one)),
        )
        for name, one in found.nodes.items()
    ]  # fmt: skip


def _troubles(seen: NodeSeen, versions: str) -> list[str]:
    each = dict.fromkeys((seen.trouble, seen.bridge_trouble, versions))
    return [printable(one) for one in each if one]
