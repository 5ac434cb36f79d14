"""Several nodes on one machine, for tests of jobs that span nodes.

Two kinds have one face (node.py): of namespaces, which is the honest one (namespaces.py, switch.py), and, where this
user may not make those, of addresses 127.0.0.N with relays between them (loopback.py, links.py). `nodes.kind` says
which one a test had. `scripts/nodes.sh` has the first kind for a shell (command.py, saved.py).

Called by: tests, etcd.py, scripts/nodes.sh. Promises: two sets beside each other do not meet; nothing of a set is left
when it is closed, or when its test was killed. Importing this needs the standard library alone.
"""

from __future__ import annotations

from .loopback import LoopbackNodes
from .namespaces import NamespaceNodes, why_not
from .node import Node, Nodes, Unsupported

__all__ = ["LoopbackNodes", "NamespaceNodes", "Node", "Nodes", "Unsupported", "make_nodes", "why_not"]


def make_nodes(count: int) -> Nodes:
    """Makes nodes of namespaces, or of addresses where `why_not()` says why namespaces cannot be had."""
    return LoopbackNodes(count) if why_not() else NamespaceNodes(count)
