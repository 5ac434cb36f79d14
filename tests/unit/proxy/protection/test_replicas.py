"""Which blocks ranks have held equal and hold no longer."""

from __future__ import annotations

from jitc.proxy.protection.peer_mode.classes import Row, Table
from jitc.proxy.protection.peer_mode.replicas import AGREEING, SMALL, WHOLE, Replicas, Split

LARGE = SMALL + 1
Contents = dict[int, str]


def tables(ranks: dict[int, Contents], size: int = LARGE, stepped: bool = True) -> dict[int, Table]:
    """By rank and ordinal what a block holds."""
    return {
        rank: Table(
            tuple(
                Row(ordinal, size, text.encode(), b"before" if stepped else text.encode(), 1000 * rank + ordinal)
                for ordinal, text in contents.items()
            )
        )
        for rank, contents in ranks.items()
    }


def same(ranks: int, text: str) -> dict[int, Contents]:
    return {rank: {1: text} for rank in range(ranks)}


def watched(ranks: int, size: int = LARGE, stepped: bool = True) -> Replicas:
    """Of a block that all of them have held equal for long enough."""
    replicas = Replicas()
    for look in range(AGREEING):
        assert replicas.look(tables(same(ranks, f"step {look}"), size, stepped)) == []
    return replicas


def test_ranks_that_agree_say_nothing() -> None:
    assert watched(4).look(tables(same(4, "more"))) == []


def test_two_ranks() -> None:
    [split] = watched(2).look(tables({0: {1: "a"}, 1: {1: "b"}}))
    assert (split.ordinal, split.size, split.addresses) == (1, LARGE, {0: 1, 1: 1001})
    assert not split.majority and not split.odd
    assert split.concerned == {0, 1}


def test_the_odd_one_of_three() -> None:
    [split] = watched(3).look(tables({0: {1: "a"}, 1: {1: "b"}, 2: {1: "a"}}))
    assert (split.majority, split.odd, split.concerned) == ({0, 2}, {1}, {1})


def test_two_against_two() -> None:
    [split] = watched(4).look(tables({0: {1: "a"}, 1: {1: "a"}, 2: {1: "b"}, 3: {1: "b"}}))
    assert not split.majority and split.concerned == {0, 1, 2, 3}


def test_it_is_told_once_and_lasts_until_they_agree() -> None:
    replicas = watched(3)
    apart = tables({0: {1: "a"}, 1: {1: "b"}, 2: {1: "a"}})
    assert len(replicas.look(apart)) == 1
    assert replicas.look(apart) == []
    assert [replicas.count(rank) for rank in range(3)] == [0, 1, 0]
    assert replicas.look(tables(same(3, "a"))) == []
    assert [replicas.count(rank) for rank in range(3)] == [0, 0, 0] and replicas.splits() == []


def test_a_block_that_goes_is_over() -> None:
    replicas = watched(2)
    replicas.look(tables({0: {1: "a"}, 1: {1: "b"}}))
    replicas.look(tables({0: {1: "a"}, 1: {}}))
    assert replicas.splits() == []


def test_healed_blocks_are_over_and_watched_again() -> None:
    replicas = watched(3)
    replicas.look(tables({0: {1: "a"}, 1: {1: "b"}, 2: {1: "a"}}))
    replicas.healed([1])
    assert replicas.splits() == []
    for _ in range(AGREEING):
        assert replicas.look(tables(same(3, "c"))) == []
    assert len(replicas.look(tables({0: {1: "a"}, 1: {1: "a"}, 2: {1: "b"}}))) == 1


def test_what_was_never_equal_for_long_may_differ() -> None:
    replicas = Replicas()
    for look in range(2 * AGREEING):
        ranks = {0: {1: "a"}, 1: {1: "b" if look % AGREEING == AGREEING - 1 else "a"}}
        assert replicas.look(tables(ranks)) == []


def test_counters_of_the_program_may_go_apart() -> None:
    """Small, and no optimizer step writes them."""
    assert watched(3, SMALL, stepped=False).look(tables({0: {1: "1"}, 1: {1: "1"}, 2: {1: "2"}}, SMALL, False)) == []
    [small] = watched(3, SMALL).look(tables({0: {1: "1"}, 1: {1: "1"}, 2: {1: "2"}}, SMALL))
    [large] = watched(3, LARGE, stepped=False).look(tables({0: {1: "1"}, 1: {1: "1"}, 2: {1: "2"}}, LARGE, False))
    assert (small.stepped, large.stepped) == (True, False)


def test_a_step_that_leaves_a_block_out_does_not_make_it_a_counter() -> None:
    """A loss scale, or a step that was skipped: an earlier step has written the block, so it stays watched."""
    replicas = watched(2, SMALL)
    assert replicas.look(tables(same(2, "left out"), SMALL, stepped=False)) == []
    assert replicas.watched() == 1
    [split] = replicas.look(tables({0: {1: "1"}, 1: {1: "2"}}, SMALL, stepped=False))
    assert split.stepped


def test_groups_within_a_job() -> None:
    """Two pairs of replicas, as with tensor parallelism."""
    replicas = Replicas()
    for look in range(AGREEING):
        assert replicas.look(tables({0: {1: f"a{look}"}, 1: {1: "b"}, 2: {1: f"a{look}"}, 3: {1: "b"}})) == []
    [split] = replicas.look(tables({0: {1: "a"}, 1: {1: "b"}, 2: {1: "x"}, 3: {1: "b"}}))
    assert split.concerned == {0, 2}


def test_a_split_in_three_has_a_majority_only_with_more_than_half() -> None:
    parts = (frozenset({0, 1, 2}), frozenset({3}), frozenset({4}))
    assert Split(1, 8, parts, True, {}).odd == {3, 4}
    assert not Split(1, 8, (frozenset({0, 1}), frozenset({2}), frozenset({3})), True, {}).majority


def test_allocations_that_are_kept_whole_are_not_watched() -> None:
    """Nobody says what is live in them."""
    replicas = Replicas()
    for _ in range(AGREEING):
        assert replicas.look(tables({rank: {WHOLE | 1: "a"} for rank in range(2)})) == []
    assert replicas.look(tables({rank: {WHOLE | 1: str(rank)} for rank in range(2)})) == []
    assert replicas.watched() == 0


def test_a_buffer_that_each_rank_fills_was_no_replica() -> None:
    """Zeros on all of them, up to where each one writes what is its own."""
    fills: dict[int, Contents] = {0: {1: "a"}, 1: {1: "b"}, 2: {1: "a"}}
    assert constant(stepped=False).look(tables(fills, stepped=False)) == []
    assert constant(stepped=True).look(tables(fills)), "steps write it"
    assert constant(stepped=False).look(tables(fills)), "a step has written it now: weights that were frozen until then"
    assert watched(3, stepped=False).look(tables(fills, stepped=False)), "they had written the same before"
    [split] = constant(stepped=False).look(tables(same(3, "zeros") | {1: {1: "b"}}, stepped=False))
    assert split.odd == {1}, "a bit of one of them may have flipped"


def constant(stepped: bool) -> Replicas:
    """The same, of a block that nobody has written."""
    replicas = Replicas()
    for _ in range(AGREEING):
        assert replicas.look(tables(same(3, "zeros"), stepped=stepped)) == []
    return replicas
