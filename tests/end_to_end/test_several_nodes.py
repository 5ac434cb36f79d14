"""A job whose ranks are on two nodes: what it computes is what it computes on one, whatever is lost on either.

The nodes are namespaces with a network of their own, or addresses where those cannot be had. A service, etcd, the
certificates and the bridge are what users start.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from toolkit.cluster import Cluster, NodeService, started, why_not
from toolkit.job import Script
from toolkit.jobs import JOBS
from toolkit.pace import PACED
from toolkit.record import Record, assert_identical
from toolkit.service import kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
Property = Callable[[str, object], None]
GPT = JOBS["gpt"]
LONG = replace(GPT.with_arguments("--steps", "12"), around=PACED)
PHASES = ["forward", "backward", "collective", "optimizer"]
SECONDS = 60.0
pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())


@pytest.fixture(scope="module")
def town(shared_workplace: Workplace) -> Iterator[Cluster]:
    """Two nodes, with a service on each."""
    with started(shared_workplace.folder / "c", 2, shared_workplace.env) as made:
        yield made


def run(town: Cluster, script: Script, folder: Path) -> list[Record]:
    return town.job(script, folder, town.services).finish().successful().records


def recovered(town: Cluster, before: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns what is told of the one recovery since then."""

    [found] = until(lambda: town.reports_since(before) or None, SECONDS, "a recovery is told of")
    assert found["outcome"] == "recovered", found
    return found


def test_a_job_of_two_nodes_computes_what_one_node_does(
    town: Cluster, reference: Reference, tmp_path: Path, record_property: Property
) -> None:
    record_property("nodes", town.nodes.kind)
    assert_identical(run(town, GPT, tmp_path), reference(GPT, "cuda"))
    assert town.reports() == []


@pytest.mark.parametrize("node", [0, 1])
@pytest.mark.parametrize("phase", PHASES)
def test_a_worker_that_is_lost_on_either_node(
    town: Cluster, reference: Reference, tmp_path: Path, phase: str, node: int
) -> None:
    before = town.reports()
    town.services[node].inject(kill_at(2, phase), 0)
    assert_identical(run(town, GPT, tmp_path), reference(GPT, "cuda"))
    recovered(town, before)


def test_nodes_that_are_cut_off_from_each_other_for_a_while(
    town: Cluster, reference: Reference, tmp_path: Path
) -> None:
    """The minibatch is done again when the link is whole, and nothing else is."""
    expected, before = reference(LONG, "cuda"), town.reports()
    job = town.job(LONG, tmp_path, town.services)
    job.go_to(4)
    workers = [one.worker_pid(0) for one in town.services]
    said = [len(one.said()) for one in town.services]
    town.nodes.cut(0, 1)
    job.pace.grant(8)
    noticed = list(zip(town.services, said, strict=True))
    until(lambda: all("has broken" in one.said()[at:] for one, at in noticed), SECONDS, "both nodes have noticed")
    town.nodes.heal(0)
    job.go_to(8)
    assert workers == [one.worker_pid(0) for one in town.services], "no worker is replaced"
    job.pace.grant(12)
    assert_identical(job.finish().successful().records, expected)
    assert recovered(town, before)["cause"] == "collective-error"


def test_a_bridge_that_is_killed(town: Cluster, reference: Reference, tmp_path: Path) -> None:
    expected, before = reference(LONG, "cuda"), town.reports()
    job = town.job(LONG, tmp_path, town.services)
    job.go_to(4)
    workers = [one.worker_pid(0) for one in town.services]
    os.kill(town.services[1].bridge_pid(), signal.SIGKILL)
    job.go_to(8)
    assert workers == [one.worker_pid(0) for one in town.services], "no worker is replaced"
    job.pace.grant(12)
    assert_identical(job.finish().successful().records, expected)
    assert recovered(town, before)["cause"] == "collective-error"


@pytest.mark.parametrize("which", ["leader", "other"])
def test_a_service_that_is_killed(town: Cluster, reference: Reference, tmp_path: Path, which: str) -> None:
    """And a worker on the other node right after it is back."""
    expected = reference(LONG, "cuda")
    job = town.job(LONG, tmp_path, town.services)
    job.go_to(3)
    leader = led_by(town)
    other = next(one for one in town.services if one is not leader)
    killed = leader if which == "leader" else other
    before = town.reports()
    killed.kill()
    killed.restart()
    job.go_to(5)
    survivor = other if killed is leader else leader
    survivor.inject(kill_at(6, "backward"), 0)
    job.pace.grant(12)
    assert_identical(job.finish().successful().records, expected)
    recovered(town, before)


def test_a_store_that_is_wiped_under_a_job(town: Cluster, reference: Reference, tmp_path: Path) -> None:
    """And a worker right after the job is in it again."""
    expected, before = reference(LONG, "cuda"), town.reports()
    job = town.job(LONG, tmp_path, town.services)
    job.go_to(4)
    [member] = town.store.members
    until(lambda: bool(member.values("jitc/jobs/")), SECONDS, "the job is in the store")
    town.store.wipe()
    job.go_to(6)
    until(lambda: bool(member.values("jitc/jobs/")), SECONDS, "it is there again")
    led_by(town)
    town.services[1].inject(kill_at(8, "backward"), 0)
    job.pace.grant(12)
    assert_identical(job.finish().successful().records, expected)
    recovered(town, before)


def led_by(town: Cluster) -> NodeService:
    """Returns the service that leads the one job, as the store says."""
    value = until(lambda: next(iter(town.store.members[0].values("jitc/leaders/")), None), SECONDS, "somebody leads")
    return next(one for one in town.services if one.name == value)
