"""State machines, decisions, matching, limits: no process, every case."""

from __future__ import annotations

import itertools

import pytest
from histories import in_step
from hypothesis import given
from hypothesis import strategies as st

from jitc.proxy.common.state_machine import ImpossibleEvent, Machine
from jitc.proxy.node.workers.worker import WORKER_TABLE, WorkerEvent, WorkerState
from jitc.proxy.ranks.states import SESSION_TABLE, SessionEvent, SessionState
from jitc.proxy.recovery.decide import Decision, Kind, NothingInCommon, RankPosition, decide
from jitc.proxy.recovery.limits import LOSSES_WITHOUT_PROGRESS, REPLAYS_OF_A_FAULT, Limits
from jitc.proxy.recovery.phases import TABLE, Phase, PhaseEvent, Timeline
from jitc.proxy.recovery.restore.block_match import Block, is_its_own, plan
from jitc.proxy.recovery.restore.transfer import PIECE_BYTES, pieces_of


@pytest.mark.parametrize(
    ("table", "states", "events"),
    [(TABLE, Phase, PhaseEvent), (SESSION_TABLE, SessionState, SessionEvent), (WORKER_TABLE, WorkerState, WorkerEvent)],
)
def test_tables_refuse_what_they_do_not_list(table: dict, states: type, events: type) -> None:  # type: ignore[type-arg]
    reached = {next(iter(states))} | set(table.values())
    assert reached == set(states), "a state that nothing leads to"
    for state, event in itertools.product(states, events):
        machine: Machine = Machine("test", table, state)  # type: ignore[type-arg]
        if (state, event) in table:
            assert machine.fire(event) is table[state, event]
        else:
            with pytest.raises(ImpossibleEvent):
                machine.fire(event)
            assert machine.state is state


def test_a_dead_worker_stays_dead() -> None:
    assert not [key for key in WORKER_TABLE if key[0] is WorkerState.DEAD]


def test_timeline_follows_the_phases() -> None:
    timeline = Timeline(0.25)
    for event in (
        PhaseEvent.FENCE,
        PhaseEvent.REBUILD,
        PhaseEvent.FAULT,
        PhaseEvent.FENCE,
        PhaseEvent.REBUILD,
        PhaseEvent.DECIDE,
    ):
        timeline.fire(event)
    with pytest.raises(ImpossibleEvent):
        timeline.fire(PhaseEvent.RESUME)
    for event in (PhaseEvent.RESTORE, PhaseEvent.RESUME, PhaseEvent.REPLAY):
        timeline.fire(event)
    assert timeline.machine.state is Phase.DONE
    assert timeline.total() >= 0.25


def position(prepared: int, begun: int, lost: bool = False) -> RankPosition:
    """Of a rank that keeps all its boundaries."""
    return RankPosition(prepared=prepared, begun=begun, lost=lost, history=in_step(*range(prepared + 1)))


def decision(kind: Kind, boundary: int, ranks: int) -> Decision:
    return Decision(kind, dict.fromkeys(range(ranks), boundary))


@pytest.mark.parametrize(
    ("ranks", "peer_mode", "failed", "expected"),
    [
        ([position(4, 4), position(4, 4, True)], True, False, (Kind.ROLL_BACK, 4)),
        ([position(4, 5), position(4, 4, True)], True, False, (Kind.ROLL_FORWARD, 5)),
        ([position(4, 4), position(4, 5, True)], True, False, (Kind.ROLL_FORWARD, 5)),
        ([position(5, 5), position(4, 5, True)], True, False, (Kind.ROLL_FORWARD, 5)),
        ([position(5, 5), position(4, 5, True)], False, False, (Kind.ROLL_BACK, 4)),
        ([position(4, 5), position(4, 4, True)], True, True, (Kind.ROLL_BACK, 4)),
        ([position(4, 5, True), position(4, 5, True)], True, False, (Kind.ROLL_BACK, 4)),
        ([position(0, 0, True)], False, False, (Kind.ROLL_BACK, 0)),
    ],
)
def test_decision(ranks: list[RankPosition], peer_mode: bool, failed: bool, expected: tuple[Kind, int]) -> None:
    assert decide(dict(enumerate(ranks)), peer_mode, failed) == decision(*expected, len(ranks))


def apart(*, committed: int = 0) -> dict[int, RankPosition]:
    """Two ranks, of which the second one has made a step alone: its boundaries have the next number each."""
    kept = range(committed, 5)
    first = RankPosition(4, 5, False, in_step(*kept), committed=committed)
    return {
        0: first,
        1: RankPosition(5, 5, True, in_step(*(one + 1 for one in kept), ahead=1), committed=committed + 1),
    }


def test_ranks_of_which_one_is_ahead() -> None:
    """They go back together, never forward: not all would make the same step."""
    assert decide(apart(), peer_mode=True) == Decision(Kind.ROLL_BACK, {0: 4, 1: 5})
    assert decide(apart(committed=3), peer_mode=False, older=True) == Decision(Kind.ROLL_BACK, {0: 3, 1: 4})
    assert decide(apart(committed=4), peer_mode=False, older=True) == Decision(Kind.ROLL_BACK, {0: 4, 1: 5})


def test_boundaries_of_one_number_that_do_not_belong_together() -> None:
    """Nothing is decided; the text says what each keeps."""
    ranks = {n: RankPosition(4, 4, n == 1, in_step(3, 4, ahead=-9 * n)) for n in range(2)}
    with pytest.raises(NothingInCommon, match=r"belong together: session 0 keeps 3, 4; session 1 keeps 3, 4$"):
        decide(ranks, peer_mode=True)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1), st.booleans()), min_size=1, max_size=4))
def test_copies_always_allow_going_back(ranks: list[tuple[int, int, bool]]) -> None:
    positions = {n: position(prepared, prepared + ahead, lost) for n, (prepared, ahead, lost) in enumerate(ranks)}
    decision = decide(positions, peer_mode=False)
    assert decision.kind is Kind.ROLL_BACK
    assert all(decision.boundary <= one.prepared for one in positions.values())


def test_blocks_are_matched_by_hash_or_as_they_were_before_the_step() -> None:
    peer = [Block(100, 10, 1, b"a", b"A"), Block(200, 10, 2, b"b"), Block(300, 5000, 3, b"c", b"C")]
    missing = [
        Block(1, 10, 7, b"b"),
        Block(2, 5000, 3, before=b"C"),
        Block(3, 10, 1, b"x"),
        Block(4, 11, 1, before=b"A"),
        Block(5, 11, 1, b"a"),
    ]
    result = plan(missing, peer)
    assert [(pair.source.address, pair.target.address) for pair in result.pairs] == [(200, 1), (300, 2)]
    assert [block.address for block in result.unserved] == [3, 4, 5]


@pytest.mark.parametrize(
    ("before", "in_place", "peer", "moves", "served"),
    [
        # The same before the step: what the step made of it, or nothing to move where it left it alone.
        (b"A", False, (b"A", b"a"), True, True),
        (b"A", True, (b"A", b"a"), True, True),
        (b"A", True, (b"A", b"A"), False, True),
        (b"A", False, (b"A", b"A"), True, True),
        # Another content before the step: nobody knows what the step would have made of it.
        (b"A", True, (b"B", b"b"), False, False),
        (b"A", True, (b"B", b"B"), False, True),
        (b"A", False, (b"B", b"B"), False, False),
        # Not known what it was, here or there.
        (b"A", True, (b"", b"a"), False, False),
        (b"", False, (b"", b"a"), False, False),
        (b"", False, (b"A", b"a"), False, False),
    ],
)
def test_a_block_after_a_step_that_was_skipped(
    before: bytes, in_place: bool, peer: tuple[bytes, bytes], moves: bool, served: bool
) -> None:
    missing = Block(9001, 8, 1, before=before, in_place=in_place)
    table = [Block(100, 8, 1, peer[1], peer[0])]
    result = plan([missing], table)
    assert bool(result.pairs) == moves
    assert served == (not result.unserved or is_its_own(missing, [table]))


def test_a_block_is_its_own_only_if_no_step_changes_it() -> None:
    missing = Block(9001, 8, 1, before=b"A", in_place=True)
    unchanged, changed = [Block(1, 8, 1, b"B", b"B")], [Block(1, 8, 1, b"c", b"C")]
    other = [Block(1, 8, 2, b"c", b"C"), Block(2, 16, 1, b"c", b"C")]
    assert is_its_own(missing, [unchanged, other])
    assert not is_its_own(missing, [unchanged, changed])
    assert not is_its_own(missing, [other])
    assert not is_its_own(missing, [])


@given(st.lists(st.integers(1, 2 * PIECE_BYTES), max_size=20))
def test_blocks_in_a_piece_never_overlap(sizes: list[int]) -> None:
    rows = [Block(index, size, index, bytes([index])) for index, size in enumerate(sizes)]
    result = plan(rows, rows)
    assert not result.unserved
    pieces = pieces_of(result.pairs)
    assert [pair for piece in pieces for pair, _ in piece] == result.pairs
    for piece in pieces:
        ends = [offset + pair.target.size for pair, offset in piece]
        assert all(end <= offset for end, (_, offset) in zip(ends, piece[1:], strict=False))
        assert len(piece) == 1 or ends[-1] <= PIECE_BYTES


def test_a_fault_that_returns_is_handed_over() -> None:
    limits = Limits()
    assert [limits.count_fault(1, 50) for _ in range(REPLAYS_OF_A_FAULT + 1)] == [False] * REPLAYS_OF_A_FAULT + [True]
    assert not limits.count_fault(1, 51)
    assert not limits.count_fault(1, 50)


def test_losses_count_only_without_progress() -> None:
    limits = Limits()
    for executed in range(20):
        assert not limits.count_loss(1, (1, executed, executed))
    given_up = [limits.count_loss(1, (1, 19, 19)) for _ in range(LOSSES_WITHOUT_PROGRESS)]
    assert given_up == [False] * (LOSSES_WITHOUT_PROGRESS - 1) + [True]
    limits.forget(1)
    assert not limits.count_loss(1, (1, 19, 19))
