"""A rank makes one optimizer step alone, with real workers: from then on numbers of boundaries do not say what belongs
together, so nothing is compared, healed, validated or restored by them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from replica_rig import PART, PARTS, Rank, Ranks, job, look_often
from toolkit.waiting import until

from jitc.proxy.protection.peer_mode.unevenness import MANY, Unevenness
from jitc.v1 import control_pb2

#: The rank that makes the step, and how many minibatches all make after it; each writes a part of the parameters.
AHEAD, AFTER = 1, 6


@pytest.fixture(autouse=True)
def looks(monkeypatch: pytest.MonkeyPatch) -> None:
    look_often(monkeypatch)


class Stepping(Rank):
    """Can make a step of its own."""

    def step_alone(self) -> None:
        self.send("live_set", len(self.blocks()), payload=self.live())
        self.send("step_begin", self.boundaries + 1)
        self.end_step(False)


def status(ranks: Ranks, what: str) -> list[Any]:
    document = json.loads(ranks.ranks[0].admin.Status(control_pb2.StatusRequest(), timeout=30).json)
    return [one[what] for gpu in document["gpus"] for one in gpu["sessions"]]


def part(content: bytes, step: int) -> bytes:
    return content[PART * (step % PARTS) :][:PART]


def go_apart(ranks: Ranks) -> int:
    """One rank makes a step alone when peers are relied on. Returns the number of the others' newest boundary then."""
    ranks.until(lambda: ranks.policies() == {"peer"})
    common = int(ranks.ranks[0].boundaries)
    ranks.ranks[AHEAD].step_alone()
    for _ in range(AFTER):
        ranks.minibatch()
    until(lambda: all(status(ranks, "uneven_steps")), 30, "the service knows that steps are uneven")
    return common


def assert_own_bytes(ranks: Ranks, common: int) -> None:
    """Each minibatch has changed the part of its number, which is the next one on the rank that is ahead."""
    contents = ranks.parameters()
    for number, content in enumerate(contents):
        for step in range(common + 1, common + AFTER + 1):
            assert part(content, step + (number == AHEAD)) == part(contents[0], step), (number, step)
    assert part(contents[AHEAD], common + 1) == part(contents[0], common)  # the gradients of the minibatch before


def test_nobody_is_given_the_bytes_of_others(tmp_path: Path) -> None:
    """A rank one step apart is the odd one among four, by numbers: it is neither told of nor healed."""
    with job(tmp_path, 4, heal=True, kind=Stepping) as ranks:
        assert not any(status(ranks, "uneven_steps"))
        common = go_apart(ranks)
        seen = Ranks.looks
        until(lambda: Ranks.looks > seen + 10, 30, "the service has looked again")
        assert (ranks.service.own.divergences(), ranks.service.own.recoveries()) == ([], [])
        assert_own_bytes(ranks, common)


@pytest.mark.parametrize("lost", [0, AHEAD])
def test_a_rank_is_lost(tmp_path: Path, lost: int) -> None:
    """Its boundary is the one that belongs with the other's, whatever its number."""
    with job(tmp_path, 2, kind=Stepping) as ranks:
        common = go_apart(ranks)
        os.kill(ranks.session(lost).worker.pid, 9)
        until(lambda: bool(ranks.service.own.recoveries()), 30, "the recovery has ended")
        assert_own_bytes(ranks, common)
        [found] = ranks.service.own.recoveries()
        assert (found["outcome"], found["decision"]) == ("recovered", "roll-back")
        sessions = [ranks.session(rank).number for rank in range(2)]
        boundaries = {one["session"]: one["boundary"] for one in found["boundaries"]}
        assert boundaries[sessions[AHEAD]] == boundaries[sessions[0]] + 1, boundaries


def test_no_minibatch_is_validated(tmp_path: Path) -> None:
    with job(tmp_path, 2, kind=Stepping) as ranks:
        go_apart(ranks)
        pending = ranks.service.own.validate(0)
        ranks.until(pending.done.is_set)
        assert pending.refusal.startswith("its ranks, or threads, make different optimizer steps"), pending.document


def session(number: int, name: str) -> Any:
    return SimpleNamespace(number=number, uneven=False, label=lambda: name)


def test_ranks_without_boundaries_are_told_of_once() -> None:
    group, one = [session(1, "rank 0"), session(2, "rank 1")], Unevenness()
    few, many = ({1: {"uncommitted": count}, 2: {"uncommitted": 0}} for count in (MANY - 1, MANY))
    assert one.alone(group, few) == ""
    text = one.alone(group, many)
    assert f"{MANY} boundaries of a rank belong with none of the others' (ranks without newer ones: rank 1)" in text
    assert "a fault would run again all that came since" in text and "jitc_step_begin and jitc_step_end" in text
    assert one.alone(group, many) == ""


def test_ranks_of_which_each_has_boundaries_that_fit_none() -> None:
    text = Unevenness().alone([session(1, "a"), session(2, "b")], {1: {"uncommitted": MANY}, 2: {"uncommitted": 3}})
    assert "ranks without newer ones: none" in text


def test_unevenness_is_found_once_and_stays() -> None:
    group, one = [session(1, "rank 0"), session(2, "rank 1")], Unevenness()
    assert not one.begins(group, {1: {}, 2: {}}) and not any(rank.uneven for rank in group)
    assert one.begins(group, {1: {}, 2: {"uneven": 1}}) and all(rank.uneven for rank in group)
    assert not one.begins(group, {1: {}, 2: {}}) and all(rank.uneven for rank in group)
