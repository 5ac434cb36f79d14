"""Ranks that would wait for each other around a boundary, which they do not where the program runs by itself.

Two ranks with a second communicator and a stream for it, as a second thread of a program has them. Each case is one
that hung before a drain looked for circles. JITC_TEST_CIRCLES names another build of the native side.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from executor_rig import wait_for
from rank_rig import CLASSES, GRADIENTS, ITEM, Rank, contents, minibatch, start_two, stop
from recovery_rig import RESTORED, Recoveries
from toolkit.tree import ROOT

PROGRAM = Path(os.environ.get("JITC_TEST_CIRCLES") or ROOT / "build" / "tests" / "jitc_circles_test")
WORLD, SIDE, LATE, STREAM = 5, 6, 7, 9
ALL_REDUCE, SEND, RECEIVE = 0, 6, 7
#: What collectives take of a rank's memory: of the first communicator, of the second one, and what is received.
PLACES = {WORLD: 256 << 10, SIDE: 320 << 10}
RECEIVED = 384 << 10


def test_circles_among_ranks() -> None:
    done = subprocess.run([PROGRAM], capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.fixture
def ranks() -> Iterator[list[Rank]]:
    made = start_two()
    for one in made:
        one.client.op("stream_create", STREAM, 1, 0)
        one.client.op("communicator_create", SIDE, 2, one.rank, b"side".ljust(128, b"\0"))
        one.client.flush()
    minibatch(made)
    yield made
    stop(made)


def collective(rank: Rank, communicator: int, kind: int = ALL_REDUCE, stream: int = 0) -> None:
    peer = 1 - rank.rank if kind in (SEND, RECEIVE) else -1
    here = rank.client.base + (PLACES[communicator] if kind != RECEIVE else RECEIVED)
    to = here if kind != SEND else 0
    rank.client.op(
        "collective", 1, payload=ITEM.pack(communicator, kind, 7, 0, peer, 1024, here, to, 1.0, 0), stream=stream
    )
    rank.client.flush()


def begin(rank: Rank) -> None:
    """Of what is not live at boundaries, all that the minibatch reads."""
    for place in (GRADIENTS, RECEIVED, *PLACES.values()):
        rank.client.op("fill", rank.client.base + place, 4096, rank.rank + 1, 4)
    rank.client.op("event_create", 1, 0)
    rank.client.op("event_record", 1)
    rank.client.op("event_wait", 1, stream=STREAM)
    rank.client.flush()


def join_late(rank: Rank) -> int:
    sequence = rank.client.op("communicator_create", LATE, 2, rank.rank, b"late".ljust(128, b"\0"))
    rank.client.flush()
    return sequence


def step(rank: Rank) -> None:
    rank.step()
    rank.finish()


def threads(ranks: list[Rank]) -> None:
    """What each does before its step, the other one's second thread does after its own."""
    collective(ranks[0], SIDE, stream=STREAM)
    collective(ranks[1], WORLD)
    for one in ranks:
        step(one)
    collective(ranks[0], WORLD)
    collective(ranks[1], SIDE, stream=STREAM)


def transfers(ranks: list[Rank]) -> None:
    """Rank 1 receives from before the step on what rank 0 sends when it has something of after that step."""
    collective(ranks[1], SIDE, RECEIVE, STREAM)
    for one in ranks:
        step(one)
    collective(ranks[1], WORLD, SEND)
    collective(ranks[0], WORLD, RECEIVE)
    client = ranks[0].client
    assert client.call("copy_d2h", client.base + RECEIVED, 16).status == 0
    collective(ranks[0], SIDE, SEND, STREAM)


def late_join(ranks: list[Rank]) -> None:
    """A communicator is joined by one rank before its step, by the other one after it."""
    joined = {0: join_late(ranks[0])}
    collective(ranks[1], WORLD)
    for one in ranks:
        step(one)
    collective(ranks[0], WORLD)
    joined[1] = join_late(ranks[1])
    for one in ranks:
        one.client.wait(lambda one=one: joined[one.rank] in one.client.results)
    assert all(one.client.results[joined[one.rank]].status == 0 for one in ranks)


def streams(ranks: list[Rank]) -> None:
    """Rank 1 has sent before its step what rank 0 receives from before its own one on: behind what rank 0 gives after
    that."""
    collective(ranks[0], SIDE, RECEIVE, STREAM)
    collective(ranks[1], WORLD)
    client = ranks[1].client
    client.op("event_create", 2, 0)
    client.op("event_record", 2)
    client.op("event_wait", 2, stream=STREAM)
    collective(ranks[1], SIDE, SEND, STREAM)
    for one in ranks:
        step(one)
    collective(ranks[0], WORLD)


def outside(ranks: list[Rank]) -> None:
    """What rank 1 sends to rank 0 it gives only when rank 0's program says so, which waits for something behind its
    boundary: nobody can see that."""
    collective(ranks[0], SIDE, RECEIVE, STREAM)
    for one in ranks:
        step(one)
    assert ranks[0].client.call("copy_d2h", ranks[0].client.base, 16).status == 0
    collective(ranks[1], SIDE, SEND, STREAM)


CASES = [threads, transfers, late_join, streams]


def go_on(ranks: list[Rank], committed: int) -> None:
    """To their end and by two minibatches, with so many boundaries that belong together."""
    for one in ranks:
        one.client.drain()
    minibatch(ranks)
    minibatch(ranks)
    wait_for(lambda: all(one.stats()["committed"] >= committed for one in ranks))


@pytest.mark.parametrize("peers", [False, True], ids=["copies", "peers"])
@pytest.mark.parametrize("case", CASES)
def test_nobody_waits_in_a_circle(ranks: list[Rank], case: Callable[[list[Rank]], None], peers: bool) -> None:
    if peers:
        for one in ranks:
            one.command("SetPolicy", copy_all=False, barrier=True, **CLASSES)
    for one in ranks:
        begin(one)
    case(ranks)
    go_on(ranks, 3)


def test_a_circle_that_cannot_be_seen_costs_boundaries(ranks: list[Rank]) -> None:
    for one in ranks:
        begin(one)
    for _ in range(4):
        outside(ranks)
        for one in ranks:
            one.client.drain()
    go_on(ranks, 6)


@pytest.mark.parametrize("lost", [[0], [1], [0, 1]], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_nor_in_a_replay(ranks: list[Rank], case: Callable[[list[Rank]], None], lost: list[int]) -> None:
    for one in ranks:
        begin(one)
    case(ranks)
    expected = contents(ranks)
    recoveries = Recoveries(ranks)
    assert recoveries.run(lost) == RESTORED
    recoveries.resume()
    assert contents(ranks) == expected
    minibatch(ranks)
