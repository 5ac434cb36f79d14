"""How far apart boundaries are: by what they cost and how long steps take, within what the journal holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from client_rig import expected, inject, serving, states, together, train
from standin_client import wait_until

from jitc.proxy.protection import spacing
from jitc.proxy.protection.spacing import COLD, MOST, Counted, Spacing
from jitc.v1 import control_pb2

MIB = 1 << 20


class Ranks:
    """Steps of equal ranks whose boundaries cost the same each; time passes with them."""

    def __init__(self, spacing: Spacing, cost: float, step: float, journal: float = 1.0, count: int = 2) -> None:
        self.spacing, self.cost, self.step, self.journal, self.count = spacing, cost, step, journal, count
        self.now, self.boundary, self.made, self.protected = 0.0, 0, 0, True
        self.first = cost  # of each of the first boundaries
        self.spent = 0.0

    def run(self, steps: int) -> bool:
        """Whether another number was chosen."""
        for _ in range(steps):
            self.boundary += 1
            self.now += self.step
            if self.boundary % self.spacing.every == 0:
                self.made += 1
                self._pay(self.first if self.made <= COLD else self.cost)
        one = Counted(self.boundary, self.made, self.spent, self.journal, self.protected)
        return self.spacing.advance([one] * self.count, self.now)

    def _pay(self, cost: float) -> None:
        self.now += cost
        self.spent += cost


def settled(ranks: Ranks) -> int:
    for _ in range(50):
        ranks.run(max(10, 2 * ranks.spacing.every))
    return ranks.spacing.every


@pytest.mark.parametrize("count", [1, 2, 8])
@pytest.mark.parametrize(
    ("cost", "step", "share", "every"),
    [
        (0.0001, 0.1, 0.01, 1),
        (0.033, 0.028, 0.01, 128),
        (0.033, 0.028, 0.5, 4),
        (1.2, 2.0, 0.01, 64),
        (5.0, 0.001, 0.001, MOST),
        (0.0, 0.01, 0.01, 1),
    ],
)
def test_what_is_chosen(cost: float, step: float, share: float, every: int, count: int) -> None:
    ranks = Ranks(Spacing(share, 512 * MIB), cost, step, count=count)
    assert settled(ranks) == every
    spent = ranks.made * cost / ranks.now
    assert every == MOST or spent <= share * 1.5 + cost * 20 / ranks.now, "but for the first ones"


@pytest.mark.parametrize("looks", [1, 3, 10, 16])
def test_the_first_boundaries_do_not_count(looks: int) -> None:
    """The memory of their copies is new to the system and to the device: they take a hundred times as long."""
    ranks = Ranks(Spacing(0.01, 512 * MIB), 0.0005, 0.08)
    ranks.first = 1.0
    for _ in range(20):
        ranks.run(looks)
        assert ranks.spacing.every == 1, "each one costs less than its share"


def test_the_journal_holds_the_minibatches() -> None:
    assert settled(Ranks(Spacing(0.01, 512 * MIB), 0.033, 0.028, journal=16 * MIB)) == 8
    assert settled(Ranks(Spacing(0.01, 512 * MIB), 0.033, 0.028, journal=300 * MIB)) == 1


def test_a_rank_without_room_for_copies_tries_every_boundary() -> None:
    ranks = Ranks(Spacing(0.01, 512 * MIB), 0.033, 0.028)
    assert settled(ranks) == 128
    ranks.protected = False
    assert ranks.run(10)
    assert (ranks.spacing.every, ranks.spacing.protected) == (1, False)
    ranks.protected = True
    assert settled(ranks) == 128


def test_not_to_and_fro() -> None:
    """Steps that take somewhat longer or shorter change nothing; ones that take much longer do."""
    ranks = Ranks(Spacing(0.01, 512 * MIB), 0.033, 0.028)
    settled(ranks)
    for step in (0.031, 0.026, 0.045, 0.028):
        ranks.step = step
        assert not any(ranks.run(256) for _ in range(3)), step
    ranks.step = 0.5
    assert settled(ranks) == 8


def test_a_recovery_begins_the_measurement_anew() -> None:
    ranks = Ranks(Spacing(0.01, 512 * MIB), 0.033, 0.028)
    settled(ranks)
    ranks.boundary, ranks.made = ranks.boundary - 100, 0  # another worker, at an older boundary
    assert not ranks.run(10)
    assert not ranks.run(200)
    assert ranks.spacing.every == 128


def test_a_service_chooses_and_recovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spacing, "LOOK_SECONDS", 0.0)
    with serving(tmp_path, boundary_share=1e-6) as service:
        ranks, steps = together(service), 0

        def apart() -> set[int]:
            document = json.loads(ranks[0].admin.Status(control_pb2.StatusRequest()).json)
            return {one["boundaries_apart"] for gpu in document["gpus"] for one in gpu["sessions"]}

        while apart() != {MOST}:
            train(ranks)
            states(ranks)
            steps += 1
        for client in ranks:
            inject(client, "kill-worker", wait=20)
        train(ranks)
        steps += 1
        assert states(ranks) == [(expected(steps), (2**steps % 2**32).to_bytes(4, "little"))] * 2
        wait_until(service, lambda: bool(service.own.recoveries()))
        for client in ranks:
            client.close()
