"""Ranks are compared at the first boundary after a recovery, with real workers; what differs then is no recovery."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from client_rig import serving
from replica_rig import PARAMETERS, Rank, Ranks, compared, job, look_often
from toolkit.service import BIN
from toolkit.waiting import until

from jitc.proxy.protection.peer_mode.looks import newer
from jitc.proxy.ranks.events import FaultReported
from jitc.proxy.ranks.states import SessionState
from jitc.proxy.recovery.proof import Proofs
from jitc.proxy.recovery.report import Reports
from jitc.proxy.service import Service
from jitc.proxy.status.documents import document

LOST = 1
NOT_PROVEN_STATUS = 5


@pytest.fixture(autouse=True)
def looks(monkeypatch: pytest.MonkeyPatch) -> None:
    look_often(monkeypatch)


def watch(ranks: Ranks) -> None:
    """Until the service has found blocks equal often enough."""
    for _ in range(4):
        ranks.until(lambda seen=Ranks.looks: Ranks.looks > seen)


def lose(ranks: Ranks, count: int = 1) -> dict[str, Any]:
    """A worker between two minibatches. Returns the newest report, of which there are so many then."""
    os.kill(ranks.session(LOST).worker.pid, 9)
    until(lambda: len(ranks.service.own.recoveries()) == count, 30, "the recovery has ended")
    return ranks.service.own.recoveries()[-1]


def command(name: str, service: Service) -> subprocess.CompletedProcess[str]:
    words = [str(BIN / "jitc"), name, "--socket", service.config.socket]
    return subprocess.run(words, check=False, capture_output=True, text=True, timeout=60)


def reported(ranks: Ranks) -> subprocess.CompletedProcess[str]:
    return command("report", ranks.service)


@pytest.mark.parametrize("waits", [False, True])
def test_ranks_are_compared_at_the_next_boundary(tmp_path: Path, waits: bool) -> None:
    """In peer mode, and where copies are kept of all blocks."""
    with job(tmp_path, 2, waits=waits) as ranks:
        watch(ranks)
        pending = lose(ranks)
        assert pending["outcome"] == "recovered" and pending["proof"]["state"] == "pending"
        assert "pending: ranks are compared at their next boundary" in reported(ranks).stdout
        ranks.minibatch()
        found = compared(ranks.service)
        assert found["outcome"] == "recovered" and found["proof"]["state"] == "proven"
        assert found["proof"]["boundary"] == found["boundary"] + 1 and found["proof"]["blocks"] == 1
        shown = reported(ranks)
        boundary = found["boundary"] + 1
        assert f"proven at boundary {boundary}: collectives agree, 1 blocks that ranks held equal" in shown.stdout
        assert shown.returncode == 0


def test_what_differs_is_not_proven(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with job(tmp_path, 2, waits=True) as ranks:
        watch(ranks)
        lose(ranks)
        ranks.flip(LOST)
        ranks.minibatch()
        found = compared(ranks.service)
        assert found["outcome"].startswith("not proven: replicas have stopped agreeing"), found
        assert found["proof"]["state"] == "not proven"
        words = (ranks.label(LOST), f"{PARAMETERS[1]} bytes (ordinal 0)", f"boundary {found['boundary'] + 1}")
        assert all(one in found["outcome"] for one in words)
        told = f"the recovery to boundary {found['boundary']} is not proven: "
        assert told in capfd.readouterr().err
        ranks.until(lambda: all(any(told in line for line in one.notices) for one in ranks.ranks))
        shown = reported(ranks)
        assert shown.returncode == NOT_PROVEN_STATUS and "not proven: " in shown.stdout


def test_another_recovery_comes_first(tmp_path: Path) -> None:
    """The second one is compared in the place of both."""
    with job(tmp_path, 2) as ranks:
        watch(ranks)
        lose(ranks)
        lose(ranks, 2)
        first = compared(ranks.service)
        assert (first["proof"]["state"], first["outcome"]) == ("not compared", "recovered")
        assert "another recovery" in first["proof"]["text"]
        ranks.minibatch()
        assert compared(ranks.service, 1)["proof"]["state"] == "proven"


def test_the_programs_end_first(tmp_path: Path) -> None:
    with serving(tmp_path) as service:
        ranks = Ranks(service, 2, False, Rank)
        ranks.minibatch()
        lose(ranks)
        ranks.close()
        found = compared(service)
        assert found["proof"]["state"] == "not compared" and "ended before" in found["proof"]["text"]
        assert found["outcome"] == "recovered"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks that wait for one that has ended learn it 0.5 s later, not 5 s."""
    monkeypatch.setattr("jitc.proxy.node.joins.communicators.PATIENCE", 0.5)


def recovered_and_left(service: Service) -> tuple[Ranks, Rank]:
    """A job after a recovery, of which one rank has ended since; the other one."""
    ranks = Ranks(service, 2, False, Rank)
    ranks.minibatch()
    lose(ranks)
    left, ends = ranks.ranks
    ends.close()
    ranks.threads.shutdown()
    until(lambda: len(service.registry.sessions) == 1, 30, "the session has closed")
    return ranks, left


@pytest.mark.usefixtures("at_once")
def test_a_rank_that_ends_leaves_another_waiting(tmp_path: Path) -> None:
    """The one that is left learns it seconds later; until then the recovery is neither proven nor not."""
    with serving(tmp_path) as service:
        ranks, waiting = recovered_and_left(service)
        assert service.own.recoveries()[0]["proof"]["state"] == "pending"
        waiting.begin_step()
        with pytest.raises(AssertionError, match="this communicator has ended: its rank 1"):
            waiting.call("device_synchronize")
        found = compared(service)
        assert found["outcome"].startswith("not proven: rank 0 (pid "), found
        assert "waited in vain after it (communicator-ended: " in found["outcome"]
        assert reported(ranks).returncode == NOT_PROVEN_STATUS
        waiting.close()


def test_a_rank_that_ends_is_not_waited_for(tmp_path: Path) -> None:
    """The one that is left has another boundary without it."""
    with serving(tmp_path) as service:
        _, left = recovered_and_left(service)
        left.send("live_set", len(left.blocks()), payload=left.live())
        left.send("step_begin", left.boundaries + 1)
        left.end_step(False)
        left.call("device_synchronize")
        found = compared(service)
        assert (found["outcome"], found["proof"]["state"]) == ("recovered", "not compared")
        assert "ended before all ranks had another boundary" in found["proof"]["text"]
        left.close()


def test_one_rank_has_nobody_to_be_compared_with(tmp_path: Path) -> None:
    with serving(tmp_path, gpus=1) as service:
        alone = Rank(service)
        alone.rank = 0
        alone.call("allocate", alone.base, 2 << 20)
        for step in (1, 2):
            alone.send("step_begin", step)
            alone.send("boundary", step, len(alone.blocks()), payload=alone.live())
            alone.call("device_synchronize")
            if step == 1:
                os.kill(next(iter(service.registry.sessions.values())).worker.pid, 9)
                until(lambda: bool(service.own.recoveries()), 30, "the recovery has ended")
        found = compared(service)
        assert (found["proof"]["state"], found["proof"]["text"]) == ("nothing to compare", "it has no peers")
        shown = "nothing to compare at boundary 2: collectives agree, it has no peers"
        assert shown in command("report", service).stdout
        alone.close()


class Nowhere:
    """A registry's log that keeps nothing."""

    def entries(self, _: str) -> dict[str, Any]:
        return {}

    def put(self, *_: object) -> None: ...

    delete = put


def made_up_rank(number: int) -> Any:
    return SimpleNamespace(
        number=number, worker=None, label=lambda: f"rank {number - 7}", epoch=3, state=SessionState.SERVING
    )


def begun(monkeypatch: pytest.MonkeyPatch, *ranks: Any) -> tuple[Reports, Proofs]:
    """The proof of a recovery of these ranks."""

    def describe(_: Any, proof: Any) -> dict[str, Any]:
        return {"outcome": "recovered", "ranks": [], "proof": document(proof)}

    monkeypatch.setattr("jitc.proxy.recovery.report.describe", describe)
    monkeypatch.setattr("jitc.proxy.recovery.report.line", lambda _: "")
    registry: Any = SimpleNamespace(job_of=lambda _: "run")
    policies: Any = SimpleNamespace(compare=lambda *_: None)
    log: Any = Nowhere()
    reports = Reports(log)
    proofs = Proofs(registry, reports, policies)
    decision = SimpleNamespace(boundaries={one.number: 4 for one in ranks})
    recovery: Any = SimpleNamespace(
        failure="", handed_over=[], group=list(ranks), decision=decision, incident=SimpleNamespace(causes=["xid"])
    )
    proofs.begin(recovery)
    proofs.tick()
    [before] = reports.documents()
    assert before["proof"]["state"] == "pending" and proofs.busy()
    return reports, proofs


def made_up(cause: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The report of a recovery after which a rank reports this, before ranks were compared."""
    rank = made_up_rank(7)
    reports, proofs = begun(monkeypatch, rank)
    proofs.disturbed([rank], FaultReported(rank, 12, 0, cause, "of communicator 5", 3))
    assert not proofs.busy()
    [document] = reports.documents()
    return document


def test_a_rank_had_ended_before_the_recovery_was_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end is not told again; the proof is over with the others'."""
    ranks = [made_up_rank(7), made_up_rank(8)]
    ranks[0].state = SessionState.CLOSED
    reports, proofs = begun(monkeypatch, *ranks)
    ranks[1].state = SessionState.CLOSED
    proofs.closed(ranks[1])
    assert not proofs.busy()
    [document] = reports.documents()
    assert document["proof"]["state"] == "not compared"
    assert document["proof"]["text"] == "rank 0, rank 1 ended before all ranks had another boundary"


def test_a_rank_that_waits_in_vain_is_a_failure_of_the_recovery(monkeypatch: pytest.MonkeyPatch) -> None:
    document = made_up("hung-collective", monkeypatch)
    assert document["outcome"] == "not proven: rank 0 waited in vain after it (hung-collective: of communicator 5)"


def test_another_error_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    document = made_up("device-assert", monkeypatch)
    assert document["outcome"] == "recovered" and document["proof"]["state"] == "not compared"


def test_all_ranks_need_a_boundary_after_it() -> None:
    stats = {1: {"committed": 5}, 2: {"committed": 9}}
    assert newer({1: 4, 2: 8}, stats, "committed") == {1: 5, 2: 9}
    assert newer({1: 5, 2: 8}, stats, "committed") is None
    assert newer({1: 4, 3: 0}, stats, "committed") is None, "a worker that does not answer"
