"""Recoveries over nodes, explored: leaders change, ways are cut, mirrors are late, a store is gone for a while."""

from __future__ import annotations

import pytest

from model.explore import Exploration
from model.nodes.mutants import MUTANTS, found, over_nodes
from model.nodes.network import NodesNetwork
from model.state import Shape

QUICK = {
    "another node leads": over_nodes(leases=1),
    "a way is cut and whole again": over_nodes(cuts=1),
    "a worker is lost": over_nodes(faults=1),
    "ranks join": over_nodes(steady=False),
    "a write is not answered": over_nodes(faults=1, unanswered=1),
}
SLOW = {
    "a worker is lost, the store is gone for a while": over_nodes(faults=1, outages=1),
    "a worker is lost, an update is late": over_nodes(faults=1, lates=1),
    "a worker is lost, a service is paused": over_nodes(faults=1, pauses=1),
    "a worker is lost, another node leads": over_nodes(faults=1, leases=1),
    "a way is cut, another node leads": over_nodes(cuts=1, leases=1),
    "another node leads while the service of the first is paused": over_nodes(leases=1, pauses=1),
}
CASES = [pytest.param(shape, id=name) for name, shape in QUICK.items()]
CASES += [pytest.param(shape, id=name, marks=pytest.mark.slow) for name, shape in SLOW.items()]


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("shape", CASES)
def test_nothing_goes_wrong_over_nodes(shape: Shape) -> None:
    come_to = Exploration(NodesNetwork(shape)).run()
    assert not come_to.problem, come_to.text()
    assert come_to.complete
    assert come_to.ends > 0


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_over_nodes_is_found(name: str) -> None:
    assert found(name).problem, f"it survives: {MUTANTS[name][0]}"
