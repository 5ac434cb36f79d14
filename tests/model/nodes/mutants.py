"""Defects of jobs over nodes, each with a name: every one must be found.

Called by: test_model_over_nodes.py; `python -m model --nodes 2 --without NAME` has the names too. Promise: a mutant
leaves out one rule of network.py beside.
"""

from __future__ import annotations

from ..explore import Exploration, Found
from ..state import Shape
from .network import NodesNetwork
from .state import Troubles

#: Worlds of each shape that are looked at for a mutant.
MOST = 30_000


def over_nodes(faults: int = 0, steady: bool = True, boundaries: int = 1, **troubles: int) -> Shape:
    """Returns a shape of two ranks on a node each."""
    return Shape(
        boundaries=boundaries, faults=faults, steady=steady, prompt=True, nodes=2, troubles=Troubles(**troubles)
    )


#: What is left out, what happens then, and in which shape it is found.
MUTANTS = {
    "missing-mirror-is-done": ("a rank of which nothing has come counts as done", over_nodes(faults=1)),
    "joined-before-counted": ("a rank is shown as joined before it is counted", over_nodes(steady=False)),
    "mirror-keeps-older-epoch": ("a mirror keeps what it has of an older epoch", over_nodes(faults=1)),
    "silent-node-left-out": ("a leader begins without a node that says nothing", over_nodes(cuts=1, leases=1)),
    "epochs-of-each-node": ("each node counts epochs by itself", over_nodes(faults=1, leases=1)),
    "unanswered-is-failed": ("a write that was not answered is taken for failed", over_nodes(faults=1, unanswered=1)),
    "home-admits-all": ("a home serves a node that does not lead", over_nodes(faults=1, leases=1)),
}  # fmt: skip


def found(name: str) -> Found:
    """Returns what the search comes to."""
    _, shape = MUTANTS[name]
    return Exploration(NodesNetwork(shape, frozenset({name})), MOST, depth_first=True).run()
