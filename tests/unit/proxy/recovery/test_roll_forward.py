"""A rank that is lost inside its optimizer step has afterwards what it would have had, also of what was equal on all
ranks as long as the service measured and is a rank's own since: or the job ends, and says what is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import pytest
from client_rig import inject
from replica_rig import Rank, Ranks, compared, job, look_often
from toolkit.waiting import until

#: The same on all ranks at first: counters, of which the optimizer step changes the second; and a buffer.
COUNTER, STEPS, BUFFER = (96 << 10, 8), (97 << 10, 8), (100 << 10, 8192)
LOST = 1


class Counting(Rank):
    """Beside its parameters it has counters, and a buffer that nothing has been written to yet."""

    def update(self, step: int, gradients: int) -> None:
        super().update(step, gradients)
        self.send("copy_d2d", self.base + STEPS[0], gradients, STEPS[1])

    def blocks(self) -> tuple[tuple[int, int], ...]:
        return *super().blocks(), COUNTER, STEPS, BUFFER


@pytest.fixture(autouse=True)
def looks(monkeypatch: pytest.MonkeyPatch) -> None:
    look_often(monkeypatch)


def rely_on_peers(ranks: Ranks) -> None:
    """Until no boundary is kept any more that has copies of everything."""
    ranks.until(lambda: ranks.policies() == {"peer"})
    for _ in range(2):
        ranks.minibatch()


def write_own(ranks: Ranks, block: tuple[int, int]) -> list[bytes]:
    """From now on each rank has its own."""
    own = [bytes([n + 1]) * block[1] for n in range(len(ranks.ranks))]
    for one, content in zip(ranks.ranks, own, strict=True):
        one.write(block[0], content)
    return own


def lose_in_step(ranks: Ranks, alone: bool) -> None:
    """A minibatch in which the worker of a rank dies at the first op of the optimizer step. alone: when the others have
    made the step; else with them in it, or about to begin."""
    lost = ranks.ranks[LOST]
    others = [one for one in ranks.ranks if one is not lost]
    for one in ranks.ranks:
        one.begin_step()
    inject(lost, "kill-worker", sequence=lost.sequence + 1)
    for one in others:
        one.end_step(False)
    if alone:
        numbers = [session.number for session in ranks.service.registry.sessions.values() if session.rank != LOST]
        step = lost.boundaries + 1
        until(
            lambda: all(ranks.counter(number, "boundary") == step for number in numbers), 30, "the others are through"
        )
    lost.end_step(False)


def recovery(ranks: Ranks) -> dict[str, Any]:
    """The only one, as it ended."""
    until(lambda: bool(ranks.service.own.recoveries()), 30, "a recovery has ended")
    [found] = ranks.service.own.recoveries()
    return found


@pytest.mark.parametrize("alone", [False, True])
def test_small_blocks_of_a_rank_are_its_own(tmp_path: Path, alone: bool) -> None:
    with job(tmp_path, 2, kind=Counting) as ranks:
        rely_on_peers(ranks)
        own = write_own(ranks, COUNTER)
        lose_in_step(ranks, alone)
        first, second = ranks.parameters()
        assert first == second
        found = recovery(ranks)
        assert (found["outcome"], found["decision"]) == ("recovered", "roll-forward"), found
        assert ranks.read(COUNTER) == own
        first, second = ranks.read(STEPS)
        assert first == second != bytes(STEPS[1])
        ranks.minibatch()
        assert compared(ranks.service)["outcome"] == "recovered"


def test_a_large_block_that_only_the_lost_rank_had_comes_from_the_reserve(tmp_path: Path) -> None:
    """All ranks go back to it, and compute that block again. It was equal on all ranks at the last boundary before the
    fault, since none had written it, and is not at the first one after it: that is no divergence."""
    with job(tmp_path, 2, kind=Counting, reserves=True) as ranks:
        rely_on_peers(ranks)
        own = write_own(ranks, BUFFER)
        lose_in_step(ranks, alone=True)
        first, second = ranks.parameters()
        assert first == second
        assert ranks.read(BUFFER) == own
        recovery(ranks)
        found = compared(ranks.service)
        assert found["decision"] == "roll-back", found
        assert found["outcome"] == "recovered", found
        assert any("of which there are copies of everything" in one for one in found["notes"]), found


def test_a_large_block_that_only_the_lost_rank_had_is_named(tmp_path: Path) -> None:
    with job(tmp_path, 2, kind=Counting) as ranks:
        rely_on_peers(ranks)
        write_own(ranks, BUFFER)
        lose_in_step(ranks, alone=True)
        with pytest.raises((AssertionError, grpc.RpcError), match=r"1 blocks \(8192 bytes\) of rank 1"):
            ranks.parameters()
        assert recovery(ranks)["outcome"].startswith("given up:")
