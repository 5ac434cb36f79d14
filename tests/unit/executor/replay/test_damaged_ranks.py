"""Kept state of two ranks of which one bit has changed: a peer gives it back, or the recovery names what is lost.

The decision, the restore and the transfers are the service's own. See test_damage.py for one rank alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from damage_rig import PLACES, Flip, places, written
from executor_rig import wait_for
from rank_rig import BLOCK, CLASSES, NODE, SLOT, STATISTICS, Rank, minibatch, start_two, stop
from recovery_rig import RESTORED, Recoveries, holds

from jitc.proxy.recovery.restore import restore

#: Of the slots of both ranks, on both parts of the board.
COUNTERS = [(0, 48), (SLOT, SLOT + 48), (NODE, NODE + 16), (NODE + SLOT, NODE + SLOT + 16)]


Rows = dict[int, list[list[dict[str, Any]]]]


@pytest.fixture(scope="module")
def expected() -> Rows:
    """What both ranks have at boundaries 3 and 4, by a run without a fault."""
    ranks = start_two()
    peer_mode(ranks)
    rows = {3: rows_of(ranks, 3)}
    minibatch(ranks)
    rows[4] = rows_of(ranks, 4)
    stop(ranks)
    return rows


@pytest.fixture
def ranks() -> Iterator[list[Rank]]:
    made = start_two()
    yield made
    if made:
        stop(made)


def peer_mode(ranks: list[Rank]) -> None:
    """Three boundaries; the third has copies only of what no peer holds."""
    for copy_all in (True, True, False):
        for one in ranks:
            one.command("SetPolicy", copy_all=copy_all, barrier=True, measure_every=1, **CLASSES)
        minibatch(ranks)


def forward(ranks: list[Rank]) -> None:
    for one in ranks:
        one.forward()
    for one in ranks:
        one.client.drain()


def rows_of(ranks: list[Rank], boundary: int) -> list[list[dict[str, Any]]]:
    """What each rank had at the boundary."""
    return [one.command("BoundaryTable", boundary=boundary)["rows"] for one in ranks]


def check(ranks: list[Rank], recoveries: Recoveries, rows: Rows) -> None:
    """After a recovery that says that it has restored: the content is that of the boundary."""
    for one, expected in zip(ranks, rows[recoveries.boundary], strict=True):
        assert holds(one, expected), f"rank {one.rank}: silently something else"


def copies_of(rank: Rank) -> list[tuple[int, int]]:
    return written(rank.shared.fds["snapshot"])


def run_and_check(recoveries: Recoveries, flip: Flip, rows: Rows, peers: bool) -> tuple[str, list[str]]:
    """One recovery from the loss of rank 1 with the bit changed; afterwards it is as before."""
    damaged = recoveries.ranks[1].shared
    outcome = recoveries.run([1], peers, lambda: flip.apply(damaged))
    if outcome == RESTORED:
        check(recoveries.ranks, recoveries, rows)
    flip.apply(damaged)
    return outcome, recoveries.notes


def test_a_peer_gives_back_what_a_damaged_copy_held(ranks: list[Rank]) -> None:
    """In copy mode: parameters are on both ranks, statistics and batches are not."""
    minibatch(ranks)
    minibatch(ranks)
    forward(ranks)
    recoveries, rows = Recoveries(ranks), {2: rows_of(ranks, 2)}
    found = []
    for flip in places("snapshot", copies_of(ranks[1])):
        outcome, notes = run_and_check(recoveries, flip, rows, False)
        found.append((outcome, bool(notes)))
        if outcome != RESTORED:
            assert "rank 1" in outcome and "boundary 2; 1 kept copy is damaged: " in outcome
            assert f"{BLOCK} bytes at address {ranks[1].client.base + STATISTICS:#x} (ordinal 1)" in outcome
        elif notes:
            assert f"{BLOCK} bytes at address {ranks[1].client.base:#x} (ordinal 0)" in notes[0]
    assert (RESTORED, True) in found and (RESTORED, False) in found and any(one != RESTORED for one, _ in found)
    assert recoveries.run([0, 1]) == RESTORED
    recoveries.resume()
    minibatch_goes_on(ranks)


def minibatch_goes_on(ranks: list[Rank]) -> None:
    for one in ranks:
        one.step()
        one.finish()
    for one in ranks:
        wait_for(lambda one=one: one.stats()["boundary"] == one.client.boundaries)


def test_a_rank_that_was_lost_too_gives_back_what_it_has(ranks: list[Rank]) -> None:
    """Both workers are lost, and of one a copy is damaged."""
    minibatch(ranks)
    minibatch(ranks)
    rows = {2: rows_of(ranks, 2)}
    first = {row["ordinal"]: row for row in rows[2][0]}
    second = {row["ordinal"]: row for row in rows[2][1]}
    assert first[0]["hash"] == second[0]["hash"] and first[1]["hash"] != second[1]["hash"]
    recoveries = Recoveries(ranks)
    parameters = ranks[0].client.call("copy_d2h", ranks[0].client.base, BLOCK).payload
    copies = os.pread(ranks[0].shared.fds["snapshot"], copies_of(ranks[0])[-1][1], 0)
    flip = Flip("snapshot", copies.index(parameters), 5)
    assert recoveries.run([0, 1], damage=lambda: flip.apply(ranks[0].shared)) == RESTORED
    check(ranks, recoveries, rows)
    assert "rank 0, boundary 2: 1 kept copy is damaged" in recoveries.notes[0]


def lose_in_the_step(ranks: list[Rank]) -> None:
    """Both have begun their optimizer step; the program of rank 1 sends the rest of it when it has a worker again."""
    for one in ranks:
        one.step()
    for one in ranks:
        wait_for(lambda one=one: one.stats()["executed"] == one.client.sequence)
    ranks[1].lose()
    ranks[0].finish()
    wait_for(lambda: ranks[0].stats()["executed"] == ranks[0].client.sequence)
    ranks[1].rebuild(0)
    ranks[1].finish()
    ranks[1].client.wait(lambda: ranks[1].client.acked == ranks[1].client.sequence)


def outcome_of(flip: Flip, of: int, expected: Rows) -> str:
    """Of two ranks that are made for it, of which the second is lost in its step."""
    ranks = start_two()
    try:
        peer_mode(ranks)
        forward(ranks)
        lose_in_the_step(ranks)
        recoveries = Recoveries(ranks)
        damaged = ranks[0].board if flip.memory == "board" else ranks[of].shared
        outcome = recoveries.run([1], True, lambda: flip.apply(damaged))
        if outcome == RESTORED:
            assert recoveries.boundary == 4
            check(ranks, recoveries, expected)
        return outcome
    finally:
        stop(ranks)


def test_copies_in_peer_mode(expected: Rows, ranks: list[Rank]) -> None:
    """Rank 1 is lost in its forward pass."""
    peer_mode(ranks)
    forward(ranks)
    recoveries = Recoveries(ranks)
    flips = places("snapshot", copies_of(ranks[1]), count=PLACES // 2)
    found = [run_and_check(recoveries, flip, expected, True)[0] for flip in flips]
    loud = {one for one in found if one != RESTORED}
    assert RESTORED in found and loud
    assert all("of rank 1 on GPU 1 are held by no other rank" in one and "damaged" in one for one in loud), loud


def test_copies_from_before_a_step(expected: Rows, ranks: list[Rank]) -> None:
    peer_mode(ranks)
    forward(ranks)
    lose_in_the_step(ranks)
    flips = places("snapshot", copies_of(ranks[1]), count=PLACES // 2)
    stop(ranks)
    ranks.clear()
    found = [outcome_of(flip, 1, expected) for flip in flips]
    loud = {one for one in found if one != RESTORED}
    assert RESTORED in found and loud
    assert all("no roll-forward to boundary 4" in one and "damaged" in one for one in loud), loud


def test_the_board(expected: Rows, ranks: list[Rank], monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters that ranks see of each other."""
    monkeypatch.setattr(restore, "STEP_MS", 100)  # for a step that no program sends
    peer_mode(ranks)
    forward(ranks)
    recoveries, board = Recoveries(ranks), ranks[0].board
    as_it_was = {part: os.pread(board.fds["board"], 2 * SLOT, part) for part in (0, NODE)}
    for flip in places("board", COUNTERS, count=PLACES // 2):
        if recoveries.run([1], True, lambda flip=flip: flip.apply(board)) == RESTORED:
            check(ranks, recoveries, expected)
        for part, content in as_it_was.items():
            os.pwrite(board.fds["board"], content, part)
    assert recoveries.run([1], True) == RESTORED
    check(ranks, recoveries, expected)


def test_the_board_in_a_step(expected: Rows) -> None:
    found = [outcome_of(flip, 0, expected) for flip in places("board", COUNTERS, seed=2, count=PLACES // 2)]
    assert RESTORED in found


def test_memory_that_blocks_travel_through(ranks: list[Rank]) -> None:
    peer_mode(ranks)
    forward(ranks)
    recoveries, flips = Recoveries(ranks), places("snapshot", [(0, BLOCK)])

    def damage(method: str, request: Any) -> None:
        if method == "Import":
            fd = os.open(request.path, os.O_RDWR)
            (byte,) = os.pread(fd, 1, flips[-1].offset)
            os.pwrite(fd, bytes([byte ^ 1 << flips[-1].bit]), flips[-1].offset)
            os.close(fd)

    recoveries.calls.before = damage
    while flips:
        assert "has other content than was asked for" in recoveries.run([1], True)
        flips.pop()
    recoveries.calls.before = lambda method, request: None
    assert recoveries.run([1], True) == RESTORED
