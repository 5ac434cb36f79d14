"""Replicas of which one bit has flipped in a device's memory, with real workers: told, and healed when asked for."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from replica_rig import PARAMETERS, Ranks, job, look_often
from toolkit.documents import differences, example

from jitc.v1 import control_pb2


@pytest.fixture(autouse=True)
def looks(monkeypatch: pytest.MonkeyPatch) -> None:
    look_often(monkeypatch)


def status(ranks: Ranks) -> list[int]:
    document = json.loads(ranks.ranks[0].admin.Status(control_pb2.StatusRequest(), timeout=30).json)
    return [one["diverged"] for gpu in document["gpus"] for one in gpu["sessions"]]


def test_two_ranks_are_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with job(tmp_path, 2) as ranks:
        ranks.until(lambda: ranks.policies() == {"peer"})
        assert status(ranks) == [0, 0] and ranks.service.own.divergences() == []
        ranks.flip(1)
        [found] = ranks.until(ranks.service.own.divergences)
        labels = [ranks.label(0), ranks.label(1)]
        assert (found["sessions"], found["odd"]) == (labels, [])
        assert [(one["rank"], one["bytes"]) for one in found["blocks"]] == [(one, PARAMETERS[1]) for one in labels]
        assert found["outcome"] == "left as it is"
        ranks.until(lambda: status(ranks) == [1, 1])  # said a moment after the report has it
        ranks.until(lambda: all(one.notices for one in ranks.ranks))
        for one in ranks.ranks:
            assert f"at boundary {found['boundary']} 1 block that ranks held equal before differs" in one.notices[0]
            assert all(label in one.notices[0] for label in labels)
        # Peers cannot be relied on any more.
        ranks.until(lambda: ranks.policies() == {"copy"})
        first, second = ranks.parameters()
        assert sum(a != b for a, b in zip(first, second, strict=True)) == 1
    lines = [line for line in capfd.readouterr().err.splitlines() if "copies of all blocks" in line]
    assert lines and all(f"{labels[0]}, {labels[1]}: copies" in line for line in lines)
    assert not [line for line in lines if "session" in line]


@pytest.mark.parametrize("waits", [False, True])
def test_the_odd_one_is_healed(tmp_path: Path, waits: bool, capfd: pytest.CaptureFixture[str]) -> None:
    """In peer mode; and where nothing is measured any more, as the step waits for results."""
    with job(tmp_path, 4, heal=True, waits=waits) as ranks:
        if waits:
            ranks.until(lambda: "copies of all blocks (the optimizer step" in capfd.readouterr().err)
        else:
            ranks.until(lambda: ranks.policies() == {"peer"})
        assert ranks.service.own.divergences() == []
        ranks.flip(2)
        [found] = ranks.until(ranks.service.own.divergences)
        assert found["odd"] == [ranks.label(2)]
        assert [one["rank"] for one in found["blocks"]] == [ranks.label(2)]
        ranks.until(lambda: "healed at boundary" in ranks.service.own.divergences()[0]["outcome"])
        assert differences(ranks.service.own.divergences(), example("jitc report --json")["divergences"]) == []
        first, *others = ranks.parameters()
        assert others == [first] * 3
        recoveries = ranks.until(ranks.service.own.recoveries)  # more than one when the job was too fast at first
        assert {(one["cause"], one["outcome"]) for one in recoveries} == {("replica-divergence", "recovered")}
        assert status(ranks) == [0] * 4
        assert any("replicas agree again" in line for line in ranks.ranks[2].notices)
        # What is kept is the healed content: a worker lost now comes back with it.
        before = len(ranks.service.own.recoveries())
        os.kill(ranks.session(2).worker.pid, 9)
        ranks.until(lambda: len(ranks.service.own.recoveries()) > before)
        first, *others = ranks.parameters()
        assert others == [first] * 3
        assert len(ranks.service.own.divergences()) == 1


def test_the_odd_one_is_named_and_left(tmp_path: Path) -> None:
    with job(tmp_path, 3) as ranks:
        ranks.until(lambda: ranks.policies() == {"peer"})
        ranks.flip(0)
        [found] = ranks.until(ranks.service.own.divergences)
        assert found["odd"] == [ranks.label(0)]
        assert found["outcome"] == "left as it is; jitc-proxyd --heal-replicas takes the majority's bytes"
        ranks.until(lambda: status(ranks) == [1, 0, 0])
        ranks.until(lambda: ranks.ranks[0].notices)
        assert "may have flipped" in ranks.ranks[0].notices[0]
        assert ranks.service.own.recoveries() == []
