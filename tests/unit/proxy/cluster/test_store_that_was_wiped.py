"""A store that loses its data under running jobs: nobody forgets a job, a number or a name, and all is written anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from engine_rig import LIMIT, Seen, etcd_engine, threads
from meeting_rig import RigNode
from toolkit.etcd import Etcd, etcd, why_not
from toolkit.waiting import until

from jitc.proxy.cluster import keys
from jitc.proxy.cluster.entries import JobEntry
from jitc.proxy.cluster.store.engine import Engine

WORLD = b"w" * 128


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Etcd]:
    if reason := why_not():
        pytest.skip(reason)
    with etcd(tmp_path / "etcd") as cluster:
        yield cluster


@contextmanager
def pair(store: Etcd) -> Iterator[tuple[list[RigNode], list[int]]]:
    """Two nodes with a job of one session on each, whose communicator is linked."""
    with ExitStack() as ends:
        made = []
        for number in (1, 2):
            made.append(RigNode(etcd_engine(store.endpoints, None, Seen[str]()), number))
            ends.callback(made[-1].close)
        sessions = [one.session(1) for one in made]
        for rank, one in enumerate(made):
            one.join(WORLD, 2, rank, sessions[rank])
        for one in made:
            one.wait_linked(WORLD)
        yield made, sessions
    until(lambda: not threads(), LIMIT, f"their threads have ended: {threads()}")


def leader(nodes: list[RigNode], session: int) -> RigNode | None:
    """Returns the node that all say to be the leader."""
    said = {one.jobs.leader_of(session) for one in nodes}
    return next((one for one in nodes if said == {one.name}), None)


def jobs(engine: Engine) -> list[JobEntry]:
    return [JobEntry.decoded(key, one) for key, one in engine.list(keys.JOBS).entries.items()]


@pytest.mark.parametrize("released", [False, True], ids=["in use", "released"])
def test_a_job_stays_one_with_its_epoch(store: Etcd, released: bool) -> None:
    """Also where no communicator says any more who belongs together."""
    with pair(store) as (nodes, sessions):
        first = until(lambda: leader(nodes, sessions[0]), LIMIT, "one node leads")
        assert first.jobs.next_epoch(sessions, 6) == 7
        if released:
            for one in nodes:
                one.release(WORLD)
            until(lambda: not first.engine.list(keys.COMMUNICATORS).entries, LIMIT, "it is released")
        forgotten: list[str] = []
        for one in nodes:
            one.jobs.follow(lambda one=one: one.jobs.over_nodes(sessions[0]) or forgotten.append(one.name))  # type: ignore[misc]
        store.wipe()
        until(lambda: bool(store.members[0].values("jitc/jobs/")), LIMIT, "the job is there again")
        assert jobs(nodes[1].engine) == [JobEntry(frozenset(sessions), 7)]
        after = until(lambda: leader(nodes, sessions[0]), LIMIT, "one node leads again")
        assert until(lambda: after.jobs.leader_of(sessions[0]) == after.name, LIMIT, "it is sure") and not forgotten
        assert after.jobs.next_epoch(sessions, 0) == 8
        assert released or not any(one.unlinked for one in nodes)


def test_a_job_that_ends_while_its_store_is_away_is_not_written_again(store: Etcd) -> None:
    with pair(store) as (nodes, sessions):
        [member] = store.members
        store.kill(member)
        for one, session in zip(nodes, sessions, strict=True):
            one.end(session, "it has ended")
        member.wipe()
        store.start(member)
        until(lambda: len(store.members[0].values("jitc/nodes/")) == 2, LIMIT, "the nodes are there again")
        until(lambda: not any(one.jobs.entries() for one in nodes), LIMIT, "the job is forgotten")
        assert not store.members[0].values("jitc/jobs/")
