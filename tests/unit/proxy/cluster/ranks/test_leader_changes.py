"""Another node leads the job from now on, at each place of a recovery: it finishes what the one before began."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from nodes_rig import SECONDS, Rig, rig
from phases_rig import IDS, PLACES, At
from toolkit.waiting import until

from jitc.proxy.ranks.events import RanksTaken
from jitc.proxy.ranks.rank import NotLed
from jitc.proxy.ranks.states import SessionState

pytestmark = pytest.mark.timeout(120)


def expect_order(nodes: Rig) -> None:
    """Epochs grow over leaders, and no worker has done anything for an older one after a newer one."""
    epochs = [epoch for _, epoch in nodes.store.given]
    assert epochs == sorted(set(epochs)), nodes.store.given
    for rank in range(len(nodes.nodes)):
        fences = [epoch for method, epoch in nodes.worker(rank).called if method == "Fence"]
        assert fences == sorted(fences)


@pytest.mark.parametrize("place", PLACES, ids=IDS)
@pytest.mark.parametrize("victim", [0, 1], ids=["first-leader-s", "second-leader-s"])
@pytest.mark.sampled
def test_in_a_recovery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: int, place: tuple[str, str, str]
) -> None:  # fmt: skip
    with rig(tmp_path) as nodes:

        def change() -> None:
            [job] = nodes.node("n1").coordinator._jobs
            nodes.store.lead("n2")
            until(lambda: job.left, SECONDS, "the recovery is told to end")

        at = At(place, change)
        at.install(monkeypatch)
        nodes.worker(victim).kill()
        until(at.done.is_set, SECONDS, "the leader has changed")
        found = nodes.well()
        assert found[-1]["outcome"] == "recovered", found
        assert not nodes.node("n1").coordinator._jobs
        assert not nodes.node("n1").over_nodes._table.sessions, "the leader of before has let go of them"
        assert nodes.store.given[-1][0] == "n2"
        expect_order(nodes)


@pytest.mark.parametrize("place", PLACES, ids=IDS)
def test_there_and_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: tuple[str, str, str]) -> None:
    """The first node leads again before the second one has done anything."""

    def change() -> None:
        nodes.store.lead("n2")
        nodes.store.lead("n1")

    with rig(tmp_path) as nodes:
        at = At(place, change)
        at.install(monkeypatch)
        nodes.worker(1).kill()
        until(at.done.is_set, SECONDS, "the leader has changed, and is the same again")
        nodes.well()
        expect_order(nodes)


def test_nobody_leads_for_a_while(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        nodes.store.lead(None)
        nodes.worker(0).kill()
        nodes.worker(1).kill()
        until(lambda: all(not one.coordinator._jobs for one in nodes.nodes), SECONDS, "nobody recovers")
        assert nodes.store.given == []
        nodes.store.lead("n2")
        found = nodes.well()
        assert found[-1]["outcome"] == "recovered" and nodes.store.given[0][0] == "n2"


def test_calls_of_the_leader_before_are_refused(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        first = nodes.leader.remote(nodes.numbers[1])
        assert first is not None and first.worker is not None
        worker, request = first.worker, first.target(first.worker.pid)
        nodes.store.lead("n2")
        until(lambda: nodes.nodes[1].over_nodes._leads.away(nodes.numbers[1]) is None, SECONDS, "n2 has taken it")
        home: Any = nodes.nodes[1]
        for method, sent in requests(request).items():
            reply = home.served("n1", method, sent)
            told = reply if method in ("Note", "EndWorker") else reply.home
            assert "does not lead this job by what node n2 knows" in told.text, (method, reply)
        assert worker.alive() and nodes.worker(1).alive()
        assert nodes.session(1).state is SessionState.SERVING


def requests(target: Any) -> dict[str, Any]:
    from jitc.v1 import peer_pb2, worker_pb2

    fence = worker_pb2.SessionRequest(session=target.session, epoch=9).SerializeToString()
    state = peer_pb2.RankState(state="failed", epoch=9, failure="a node that does not lead says so")
    note = peer_pb2.StateNote(version=1 << 40, state=state)
    return {
        "CallWorker": peer_pb2.CallWorkerRequest(target=target, method="Fence", request=fence, note=note),
        "Note": peer_pb2.NoteRequest(target=target, note=note),
        "EndWorker": peer_pb2.EndWorkerRequest(target=target, how="kill"),
        "ReplaceWorker": peer_pb2.ReplaceWorkerRequest(target=target, call=b"1", note=note),
    }


@pytest.mark.parametrize("rank", [0, 1], ids=["own", "remote"])
def test_a_worker_that_the_leader_before_was_restoring_is_replaced(tmp_path: Path, rank: int) -> None:
    """It may have half of its state."""
    with rig(tmp_path) as nodes:
        before, done = nodes.worker(rank).pid, threading.Event()
        one = nodes.leader.ranks.sessions[nodes.numbers[rank]]
        with nodes.leader.ranks.changed:
            one.machine.state, one.stopped = SessionState.STANDBY, True
        nodes.leader.coordinator.post(RanksTaken([one], done.set))
        assert done.wait(SECONDS)
        nodes.well()
        assert nodes.worker(rank).pid != before


def test_a_new_leader_knows_that_a_job_relies_on_peers(tmp_path: Path) -> None:
    """The home's log has it, and its document."""
    with rig(tmp_path) as nodes:
        with nodes.leader.registry.changed:
            for one in nodes.leader.ranks.sessions.values():
                one.peer_mode, one.reserve = True, 2
        nodes.leader.ranks.note(*nodes.leader.ranks.sessions.values())
        until(lambda: nodes.session(1).peer_mode, SECONDS, "the home knows")
        assert nodes.nodes[1].log.entries("session/")[str(nodes.numbers[1])]["reserve"] == 2
        seen = threading.Event()
        policies = nodes.node("n2").coordinator._policies
        nodes.store.lead("n2")
        until(lambda: policies.peer_mode(list(nodes.node("n2").ranks.sessions.values())) or None, SECONDS, "so does n2")
        assert not seen.is_set()


def test_the_store_knows_better_who_leads_and_changes_its_mind(tmp_path: Path) -> None:
    """A recovery that got no epoch ends, and the fault is recovered when the node does lead, though it has always
    thought so."""
    with rig(tmp_path) as nodes:
        for one in nodes.nodes:
            one.view.late = "n1"
        nodes.store.leader = "n2"
        nodes.worker(0).kill()
        until(lambda: nodes.store.refused > 1, SECONDS, "it is refused, and asks again")
        nodes.store.leader = "n1"
        nodes.well()
        assert nodes.store.refused < 20, "it asks once in a while"


def test_an_epoch_is_not_given_to_who_does_not_lead(tmp_path: Path) -> None:
    """One whose view of the store is late ends its recovery, and acts on nothing."""
    with rig(tmp_path) as nodes:
        nodes.node("n1").view.late = "n1"
        nodes.store.lead("n2")
        with pytest.raises(NotLed, match="another node leads this job"):
            nodes.node("n1").ranks.next_epoch(list(nodes.node("n1").ranks.sessions.values()))
        nodes.node("n1").view.late = None
        nodes.store.tell()
        nodes.settled()
        nodes.worker(0).kill()
        nodes.well()
        assert {node for node, _ in nodes.store.given} == {"n2"}


def test_a_session_is_not_another_node_s_before_it_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recovery that takes long to notice that it is over acts on this node's session until it has ended."""
    stands, goes_on = threading.Event(), threading.Event()

    def stand() -> None:
        stands.set()
        goes_on.wait(SECONDS)

    with rig(tmp_path) as nodes:
        At(("decide", "decide", "before"), stand).install(monkeypatch)
        nodes.worker(1).kill()
        until(stands.is_set, SECONDS, "the recovery is there")
        leads, [job] = nodes.node("n1").over_nodes._leads, nodes.node("n1").coordinator._jobs
        nodes.store.lead("n2")
        until(lambda: job.left, SECONDS, "it is told to end")
        leads._step()
        leads._step()
        away = leads.away(nodes.numbers[0])
        assert away is not None and (away.leader, away.term) == (None, 0)
        assert nodes.node("n2").remote(nodes.numbers[0]) is None
        goes_on.set()
        nodes.well()


def test_a_job_that_grows_is_recovered_as_a_whole(tmp_path: Path) -> None:
    """A rank of a third node has joined it, and is not known yet: nobody is left out of a fence."""
    nodes = Rig(tmp_path, 3)
    try:
        nodes.store.leader = "n1"
        nodes.store.connect(*nodes.numbers[:2])
        first = until(lambda: nodes.leader.remote(nodes.numbers[1]), SECONDS, "the leader knows of the second one")
        until(lambda: first.settled, SECONDS, "the two of them are one job")
        nodes.train()
        nodes.wires.cut("n1", "n3")
        nodes.store.connect(nodes.numbers[2])
        nodes.worker(0).kill()
        own = nodes.leader.registry.sessions[nodes.numbers[0]]
        said = until(lambda: nodes.leader.coordinator.waits_for(own) or None, SECONDS, "it waits")
        assert "n3" in said and nodes.store.given == [] and not nodes.worker(1).fenced
        nodes.wires.heal()
        [found] = nodes.well()
        assert len(found["sessions"]) == 3
    finally:
        nodes.close()


def leave_job(nodes: Rig, number: int) -> None:
    """The store says that a session has left its job: its leader may learn that first."""
    with nodes.store.lock:
        nodes.store.job.discard(number)
    nodes.store.tell()


def expect_recovered(nodes: Rig, number: int) -> None:
    """The others have been recovered without that one."""
    leader = nodes.leader
    until(lambda: leader.remote(number) is None, SECONDS, "the rank is let go")
    until(lambda: leader.coordinator.reports.documents() or None, SECONDS, "a recovery is told of")
    assert leader.coordinator.reports.documents()[-1]["outcome"] == "recovered"
    states = [nodes.session(rank).state for rank, other in enumerate(nodes.numbers) if other != number]
    assert set(states) == {SessionState.SERVING}


@pytest.mark.parametrize("place", PLACES, ids=IDS)
@pytest.mark.sampled
def test_a_rank_leaves_the_job_in_a_recovery_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: tuple[str, str, str]
) -> None:
    with rig(tmp_path, 3) as nodes:
        at = At(place, lambda: leave_job(nodes, nodes.numbers[2]))
        at.install(monkeypatch)
        nodes.worker(0).kill()
        until(at.done.is_set, SECONDS, "the rank has left")
        expect_recovered(nodes, nodes.numbers[2])


def test_a_recovery_does_not_wait_for_a_rank_that_has_left_the_job(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        nodes.wires.cut("n1", "n2")
        nodes.worker(0).kill()
        until(lambda: nodes.leader.coordinator.waits_for(nodes.session(0)), SECONDS, "the recovery waits")
        leave_job(nodes, nodes.numbers[1])
        expect_recovered(nodes, nodes.numbers[1])
