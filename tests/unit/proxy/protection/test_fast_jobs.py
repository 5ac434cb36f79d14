"""A job whose steps are faster than the service's questions is measured all the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from replica_rig import TICK, Ranks, job

from jitc.proxy.node.session import Session
from jitc.proxy.protection.peer_mode import policy
from jitc.proxy.protection.peer_mode.classes import Table
from jitc.proxy.protection.peer_mode.policy import Policies
from jitc.proxy.protection.peer_mode.tables import tables_of

#: Minibatches between two questions of the service.
AHEAD = 3
#: Looks at it: agreeing findings, the barrier for a whole step, and one more finding.
MOST_LOOKS = 6


def test_the_service_comes_late_to_every_boundary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Policies, "tick", lambda policies: None)
    with job(tmp_path, 2) as ranks:
        monkeypatch.setattr(policy, "tables_of", lambda *call: late(ranks, *call))
        policies = ranks.service.own.coordinator._policies
        for _ in range(2):
            ranks.minibatch()
        TICK(policies)  # gets to know the group
        looks = 0
        while ranks.policies() != {"peer"}:
            assert looks < MOST_LOOKS, ranks.policies()
            TICK(policies)
            looks += 1


def late(ranks: Ranks, group: Sequence[Session], boundary: int) -> dict[int, Table] | None:
    """The rows of a boundary, asked for when the job has gone on."""
    for _ in range(AHEAD):
        ranks.minibatch()
    return tables_of(group, boundary)
