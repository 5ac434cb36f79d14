"""Classes of blocks from measured tables."""

from __future__ import annotations

import itertools

import pytest

from jitc.proxy.protection.peer_mode.classes import SMALL, Classes, Finding, Row, Table, classify, replicas


def row(ordinal: int, content: str, before: str | None = None, size: int = 4096) -> Row:
    return Row(ordinal, size, content.encode(), (content if before is None else before).encode())


def table(*rows: Row, **what: bool) -> Table:
    return Table(rows, **what)


#: Parameters (1) and optimizer state (2) change in the step; running statistics (3) before it; a rank's own batch (4).
EARLIER = {
    rank: table(row(1, "p1", "p0"), row(2, "o1", "o0"), row(3, "s1"), row(4, f"batch1-{rank}")) for rank in (10, 11)
}
LATER = {
    rank: table(row(1, "p2", "p1"), row(2, "o2", "o1"), row(3, "s2"), row(4, f"batch2-{rank}")) for rank in (10, 11)
}


def test_data_parallel_job() -> None:
    own = Classes(mutable=frozenset({3, 4}), rank_local=frozenset({4}))
    assert classify(EARLIER, LATER) == Finding({10: own, 11: own})


def test_shards_have_no_replica() -> None:
    later = LATER | {11: table(row(1, "q2", "p1"), row(2, "o2", "o1"), row(3, "s2"), row(4, "batch2-11"))}
    assert "4096 bytes of its own that its optimizer step changes" in classify(EARLIER, later).obstacle


@pytest.mark.parametrize(
    ("what", "words"),
    [("waits", "waits for results"), ("collectives", "runs collectives"), ("variables", "device variables")],
)
def test_steps_that_cannot_be_finished_alone(what: str, words: str) -> None:
    later = {rank: Table(one.rows, **{what: True}) for rank, one in LATER.items()}
    assert words in classify(EARLIER, later).obstacle


def test_live_blocks_that_come_and_go() -> None:
    later = LATER | {10: table(*LATER[10].rows[:3], row(9, "batch2-10"))}
    assert classify(EARLIER, later).classes[10] == Classes(mutable=frozenset({3}), rank_local=frozenset())
    later = LATER | {10: table(*LATER[10].rows[:3], row(9, "made in the step", ""))}
    assert "4096 bytes of its own" in classify(EARLIER, later).obstacle


def test_a_replica_that_is_new_in_each_step_and_changed_by_it() -> None:
    """Ranks hold the same, so none of it is a rank's own; but it had no class when the step before began."""
    later = {rank: table(*LATER[rank].rows, row(9, "made in the step", "begun before it")) for rank in LATER}
    assert "changes blocks that are new in each step" in classify(EARLIER, later).obstacle
    unchanged = {rank: table(*LATER[rank].rows, row(9, "made before the step")) for rank in LATER}
    assert classify(EARLIER, unchanged).obstacle == ""


def test_small_blocks_have_one_class_whatever_they_hold() -> None:
    """A loss scale changes now and then, a rank's counter is equal to another's for a while: neither says anything."""
    scales = [("s1", "s1"), ("s1", "s2")]
    counters = [("n0", "n0"), ("n0", "n1")]
    for (scale, later_scale), (counter, own) in itertools.product(scales, counters):
        earlier = {
            rank: table(*EARLIER[rank].rows, row(5, scale, size=4), row(6, "n0", size=SMALL)) for rank in EARLIER
        }
        small = {10: counter, 11: own}
        later = {
            rank: table(*LATER[rank].rows, row(5, later_scale, size=4), row(6, small[rank], size=SMALL))
            for rank in LATER
        }
        finding = classify(earlier, later)
        assert finding.obstacle == ""
        assert finding.classes[10] == finding.classes[11] == Classes(frozenset({3, 4, 5, 6}), frozenset({4}))
        assert finding.classes[10].classified == {1, 2, 3, 4, 5, 6}
    larger = {rank: table(*LATER[rank].rows, row(6, f"n{rank}", size=SMALL + 1)) for rank in LATER}
    before = {rank: table(*EARLIER[rank].rows, row(6, "n", size=SMALL + 1)) for rank in EARLIER}
    assert classify(before, larger).classes[10].rank_local == {4, 6}


def test_a_small_block_of_one_rank_that_its_step_changes_has_no_replica() -> None:
    later = {rank: table(*LATER[rank].rows, row(5, f"n{rank}", "n", size=4)) for rank in LATER}
    earlier = {rank: table(*EARLIER[rank].rows, row(5, "n", size=4)) for rank in EARLIER}
    assert "4 bytes of its own that its optimizer step changes" in classify(earlier, later).obstacle


def test_what_was_not_measured_is_volatile_and_changed() -> None:
    assert Row(1, 64, b"a", b"").changed_in_step()
    later = {rank: table(row(1, "p2", "")) for rank in (10, 11)}
    earlier = {rank: table(row(1, "p1", "p0")) for rank in (10, 11)}
    finding = classify(earlier, later)
    assert finding.classes[10] == Classes(frozenset({1}), frozenset())


def test_equal_bytes_elsewhere_are_no_replica() -> None:
    tables = {10: table(row(1, "zero"), row(2, "a")), 11: table(row(1, "b"), row(2, "c"), row(3, "zero"))}
    assert replicas(tables) == {10: set(), 11: set()}


def test_an_extra_block_shifts_nothing() -> None:
    tables = {10: table(row(1, "a"), row(3, "c")), 11: table(row(1, "a"), row(2, "own"), row(3, "c"))}
    assert replicas(tables) == {10: {1, 3}, 11: {1, 3}}
