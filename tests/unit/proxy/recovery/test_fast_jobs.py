"""A job whose steps are faster than the service's questions is measured all the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from replica_job import TICK, Ranks, job

from jitc.proxy.recovery.peer_mode.classes import Table
from jitc.proxy.recovery.peer_mode.policy import Policies

#: Minibatches between two questions of the service.
AHEAD = 3
#: Looks at it: agreeing findings, the barrier for a whole step, and one more finding.
MOST_LOOKS = 6
TABLES = Policies._tables


def test_the_service_comes_late_to_every_boundary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Policies, "tick", lambda policies: None)
    with job(tmp_path, 2) as ranks:
        monkeypatch.setattr(Policies, "_tables", lambda *call, **how: late(ranks, *call, **how))
        policies = ranks.service._coordinator._policies
        for _ in range(2):
            ranks.minibatch()
        TICK(policies)  # gets to know the group
        looks = 0
        while ranks.policies() != {"peer"}:
            assert looks < MOST_LOOKS, ranks.policies()
            TICK(policies)
            looks += 1


def late(ranks: Ranks, policies: Policies, *call: object, **how: bool) -> dict[int, Table] | None:
    """The rows of a boundary, asked for when the job has gone on."""
    for _ in range(AHEAD):
        ranks.minibatch()
    found: dict[int, Table] | None = TABLES(policies, *call, **how)  # type: ignore[arg-type]
    return found
