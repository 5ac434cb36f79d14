"""A job whose ranks are on three nodes, whatever is lost on any of them: what it computes is what it computes on one.

A node sees what ranks of two others do over two connections, of which either may be late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from toolkit.cluster import Cluster, started, why_not
from toolkit.job import Script
from toolkit.jobs import JOBS
from toolkit.pace import PACED
from toolkit.record import Record, assert_identical
from toolkit.service import kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
PHASES = ["forward", "backward", "collective", "optimizer"]
NODES = 3
SECONDS = 60.0
pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())


@pytest.fixture(scope="module")
def town(shared_workplace: Workplace) -> Iterator[Cluster]:
    """For a rank on each node."""
    with started(shared_workplace.folder / "c1", NODES, shared_workplace.env) as made:
        yield made


@pytest.fixture(scope="module")
def city(shared_workplace: Workplace) -> Iterator[Cluster]:
    """For two ranks on each node."""
    with started(shared_workplace.folder / "c2", NODES, shared_workplace.env, gpus=2) as made:
        yield made


def job_of(name: str, ranks: int) -> Script:
    return replace(JOBS[name], ranks=ranks)


def check(made: Cluster, script: Script, reference: Reference, folder: Path) -> None:
    """Runs a job, with as many ranks on each node; one recovery is told of, which has worked."""
    before = made.reports()
    places = [made.services[rank * NODES // script.ranks] for rank in range(script.ranks)]
    records = made.job(script, folder, places).finish().successful().records
    assert_identical(records, reference(script, "cuda"))
    assert told_since(made, before) == [("recovered", "worker-death")]


def told_since(made: Cluster, before: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Returns outcome and cause of the recoveries that are told of since then, of which there is one at least."""
    found = until(lambda: made.reports_since(before) or None, SECONDS, "a recovery is told of")
    return [(one["outcome"], one["cause"]) for one in found]


@pytest.mark.parametrize("node", [0, 2])
def test_a_worker_that_is_lost(town: Cluster, reference: Reference, tmp_path: Path, node: int) -> None:
    town.services[node].inject(kill_at(2, "collective"), 0)
    check(town, job_of("gpt", NODES), reference, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("node", range(NODES))
@pytest.mark.parametrize("job", list(product(["gpt", "fsdp"], PHASES)), ids="-".join)
def test_a_worker_of_six_that_is_lost(
    city: Cluster, reference: Reference, tmp_path: Path, job: tuple[str, str], node: int
) -> None:
    name, phase = job
    city.services[node].inject(kill_at(2, phase), 1)
    check(city, job_of(name, 2 * NODES), reference, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["both ways", "one way"])
@pytest.mark.parametrize("name", ["gpt", "fsdp"])
def test_a_node_that_is_cut_off_for_a_while(
    city: Cluster, reference: Reference, tmp_path: Path, name: str, way: str
) -> None:
    script = replace(job_of(name, 2 * NODES).with_arguments("--steps", "12"), around=PACED)
    expected, before = reference(script, "cuda"), city.reports()
    job = city.job(script, tmp_path, [service for service in city.services for _ in range(2)])
    job.go_to(4)
    said = [len(one.said()) for one in city.services]
    for other in range(NODES - 1):
        city.nodes.cut(NODES - 1, other) if way == "both ways" else city.nodes.one_way(NODES - 1, other)
    job.pace.grant(8)
    noticed = list(zip(city.services, said, strict=True))
    until(lambda: all("has broken" in one.said()[at:] for one, at in noticed), SECONDS, "all nodes have noticed")
    city.nodes.heal(NODES - 1)
    job.go_to(8)
    job.pace.grant(12)
    assert_identical(job.finish().successful().records, expected)
    assert set(told_since(city, before)) == {("recovered", "collective-error")}
