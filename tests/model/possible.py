"""Whether a job can still be recovered, by what there is of its state; the protocol is not asked.

Called by: network.py, right after a fault. A job that is given up when it could have been recovered is a defect of the
protocol; one whose state exists nowhere any more has to be given up.
"""

from __future__ import annotations

from collections.abc import Sequence

from .state import WHOLE, Rank, Shape


def can_be_recovered(ranks: Sequence[Rank], shape: Shape) -> bool:
    """Whether there is a boundary that every rank can be taken to, and somebody who has what ranks share there."""
    if all(one.whole for one in ranks):
        return True  # everything can be computed again from the start
    return any(_all_can_go_to(ranks, collectives, shape) for collectives in range(shape.boundaries + 1))


def _all_can_go_to(ranks: Sequence[Rank], collectives: int, shape: Shape) -> bool:
    """To boundaries with so many collectives before them. Where ranks make the same steps these are of one number, and
    what ranks share may come from any of them; else each rank needs copies of its own."""
    if shape.extra:
        return all(
            any(shape.collectives(b, at) == collectives and (copies == WHOLE) for b, copies in one.kept)
            or (collectives == 0 and one.whole)
            for at, one in enumerate(ranks)
        )
    return _held(ranks, collectives, shape) and all(_goes_to(one, collectives, shape) for one in ranks)


def _held(ranks: Sequence[Rank], b: int, shape: Shape) -> bool:
    return any((b, WHOLE) in one.kept or _memory_holds(one, at, b, shape) for at, one in enumerate(ranks))


def _memory_holds(rank: Rank, at: int, b: int, shape: Shape) -> bool:
    worker = rank.worker
    if worker is None:
        return False
    return shape.holds(worker.content, b, at) or _in_step(rank, b, shape)


def _in_step(rank: Rank, b: int, shape: Shape) -> bool:
    """It can run the rest of its step, which waits for nobody."""
    worker = rank.worker
    return (
        shape.peer_mode
        and worker is not None
        and worker.content == worker.cursor == shape.at(b, 1) - 1
        and rank.begun >= b
    )


def _goes_to(rank: Rank, b: int, shape: Shape) -> bool:
    kept = dict(rank.kept)
    skips = b > 0 and rank.step == b and rank.results >= b and (b == 1 or b - 1 in kept)
    worker = rank.worker
    taken_over = worker is not None and worker.imported == b
    return b in kept or (b == 0 and rank.whole) or skips or taken_over or _in_step(rank, b, shape)
