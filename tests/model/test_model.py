"""The protocol, explored exhaustively within bounds: no deadlock, no wrong state, no result lost or given twice."""

from __future__ import annotations

import pytest

from model.explore import Exploration
from model.network import Network
from model.state import Shape

QUICK = {
    "every order, one death": Shape(boundaries=1, faults=1),
    "two boundaries, one death": Shape(boundaries=2, faults=1, prompt=True),
    "uneven steps": Shape(boundaries=2, faults=1, extra=1, prompt=True),
    "two deaths": Shape(boundaries=1, faults=2, prompt=True),
    "two deaths and a damaged copy": Shape(boundaries=1, faults=2, damages=1, steady=True, prompt=True),
    "peer mode, two deaths": Shape(boundaries=1, faults=2, peer_mode=True, steady=True, prompt=True),
    "another service takes over": Shape(boundaries=1, faults=1, restarts=1, prompt=True),
    "peer mode, another service takes over": Shape(
        boundaries=1, faults=1, restarts=1, peer_mode=True, steady=True, prompt=True
    ),
    "three ranks, peer mode": Shape(ranks=3, boundaries=1, faults=1, peer_mode=True, steady=True, prompt=True),
}
SLOW = {
    "uneven steps, two deaths": Shape(boundaries=1, faults=2, extra=2, prompt=True),
    "every order, uneven steps": Shape(boundaries=2, faults=1, extra=1),
    "uneven steps, another service takes over": Shape(boundaries=2, faults=1, restarts=1, extra=1, prompt=True),
    "three ranks, uneven steps": Shape(ranks=3, boundaries=2, faults=1, extra=1, prompt=True),
    "every order, two boundaries": Shape(boundaries=2, faults=1),
    "every order, peer mode": Shape(boundaries=1, faults=1, peer_mode=True),
    "two boundaries, two deaths": Shape(boundaries=2, faults=2, prompt=True),
    "two boundaries, peer mode, two deaths": Shape(boundaries=2, faults=2, peer_mode=True, prompt=True),
    "two boundaries, two deaths and a damaged copy": Shape(boundaries=2, faults=2, damages=1, prompt=True),
    "peer mode, a death and a service": Shape(boundaries=2, faults=1, restarts=1, peer_mode=True, prompt=True),
}
CASES = [pytest.param(shape, id=name) for name, shape in QUICK.items()]
CASES += [pytest.param(shape, id=name, marks=pytest.mark.slow) for name, shape in SLOW.items()]


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("shape", CASES)
@pytest.mark.sampled
def test_nothing_goes_wrong(shape: Shape) -> None:
    found = Exploration(Network(shape)).run()
    assert not found.problem, found.text()
    assert found.complete
    assert found.ends > 0
    assert found.nodes > shape.ranks, "the service has done nothing"


def test_an_exploration_that_is_cut_short_says_so() -> None:
    found = Exploration(Network(Shape(boundaries=1, faults=1, prompt=True)), most=100).run()
    assert not found.complete
    assert "not complete" in found.text()


def test_a_counterexample_can_be_read() -> None:
    """Breadth first, the way to it is a shortest one, step by step."""
    network = Network(Shape(boundaries=1, faults=1, prompt=True), frozenset({"rebuilt-runs-at-once"}))
    found = Exploration(network).run()
    assert found.problem == "rank 0 runs op 1 on the content of op -1"
    lines = found.text().splitlines()
    assert lines[1] == f"PROBLEM: {found.problem}"
    assert lines[2] == "    1. rank 0: its worker is killed"
    assert "OpenSession of epoch 1: done" in lines[-1]
