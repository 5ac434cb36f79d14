"""What a home reports of its sessions, and what the leader makes of it: late, repeated, unknown, wrong documents."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nodes_rig import SECONDS, Rig, rig
from toolkit.waiting import until

from jitc.proxy.cluster.ranks.documents import SHARED, apply, machine_state, state_of
from jitc.proxy.cluster.ranks.leader.session import RemoteSession
from jitc.proxy.cluster.ranks.leader.table import RemoteTable
from jitc.proxy.cluster.ranks.leadership import Cluster
from jitc.proxy.cluster.ranks.stamps import Stamps
from jitc.proxy.keeper.log import Log
from jitc.proxy.ranks.events import FaultReported, GpuUnhealthy, ServiceRestarted, SessionClosed, WorkerDied
from jitc.proxy.ranks.rank import Rank
from jitc.proxy.ranks.states import SessionEvent, SessionState
from jitc.v1 import peer_pb2

NUMBER = (2 << 32) + 1


class Table:
    """A leader's table, on its own; the session of NUMBER is on node n2."""

    def __init__(self) -> None:
        jobs: Any = SimpleNamespace(leader_of=lambda number: self.leader, node_of=lambda number: f"n{number >> 32}")
        errands: Any = SimpleNamespace(unreachable=lambda node: "", add=lambda errand: None)
        self.leader = "n1"
        links: Any = None
        self.changed = threading.Condition()
        self.real = RemoteTable(Cluster("n1", jobs, links), self.changed, errands, Stamps(Log.make()))
        self.events: list[Any] = []
        self.real.post, self.real.fault_found = self.events.append, self.events.append

    def report(
        self, stamp: int, *sessions: peer_pb2.SessionDocument, present: bool = True, newest: int = NUMBER
    ) -> Any:
        now = int(time.monotonic() * 1000)
        there = [NUMBER] if present else []
        found = peer_pb2.SessionsReport(stamp=stamp, now_ms=now, present=there, newest=newest, sessions=sessions)
        return self.real.take_in("n2", found)

    def take(self) -> RemoteSession:
        """The coordinator has it."""
        session = self.real.sessions[NUMBER]
        session.taken = session.settled = True
        self.real.tell(session)
        return session

    def kinds(self) -> list[type]:
        found = [type(one) for one in self.events]
        self.events.clear()
        return found


def document(stamp: int, term: int = 1, pid: int = 77, alive: bool = True, **more: Any) -> peer_pb2.SessionDocument:
    """A session of rank 1 that serves."""
    worker = peer_pb2.WorkerDocument(pid=pid, alive=alive, works=alive, cause="worker-death")
    state = peer_pb2.RankState(state="serving", epoch=3, epochs=3, boundaries_apart=1)
    return peer_pb2.SessionDocument(
        number=NUMBER, stamp=stamp, term=term, pid=5, rank=1, world_size=2, worker=worker, state=state, **more
    )


def fault(stamp: int, epoch: int = 3) -> peer_pb2.FaultDocument:
    return peer_pb2.FaultDocument(stamp=stamp, sequence=9, status=700, cause="sticky-error", message="m", epoch=epoch)


def test_a_death_becomes_one_event_however_often_it_is_told() -> None:
    table = Table()
    table.report(1, document(1))
    session = table.take()
    worker = session.worker
    assert worker is not None and worker.works() and not table.events
    for stamp in (5, 5, 6):
        table.report(stamp, document(stamp, alive=False))
    assert table.kinds() == [WorkerDied]
    assert not worker.alive() and session.worker is worker
    assert worker.noticed_dead <= time.monotonic()


def test_an_older_document_changes_nothing() -> None:
    table = Table()
    table.report(1, document(5, alive=False))
    session = table.take()
    assert table.kinds() == [WorkerDied]
    table.report(2, document(4))
    assert session.worker is not None and not session.worker.alive() and not table.events


def test_a_document_of_the_worker_before_comes_late() -> None:
    table = Table()
    table.report(1, document(5, pid=78))
    session = table.take()
    table.report(2, document(4, pid=77, alive=False))
    assert session.worker is not None and session.worker.pid == 78 and session.worker.alive()
    assert not table.events


def test_the_worker_before_has_ended_when_there_is_another_one() -> None:
    table = Table()
    table.report(1, document(1, pid=77))
    before = table.take().worker
    table.report(2, document(2, pid=78))
    assert before is not None and before.ends_within(0) and not before.works()


def test_a_fault_becomes_one_event_and_one_of_an_older_epoch_none() -> None:
    table = Table()
    table.report(1, document(1))
    session = table.take()
    table.report(2, document(2, fault=fault(2)))
    table.report(3, document(3, fault=fault(2)))
    assert table.kinds() == [FaultReported]
    table.report(4, document(4, fault=fault(4)))
    assert table.kinds() == [FaultReported]
    session.epoch = 4
    table.report(5, document(5, fault=fault(5, epoch=3)))
    assert table.kinds() == []


def test_what_stands_is_told_when_the_job_is_taken() -> None:
    table = Table()
    sick = peer_pb2.UnhealthyDocument(stamp=2, pid=77, gpu=3, cause="xid", message="m")
    table.report(1, document(2, fault=fault(2), unhealthy=sick))
    assert not table.events, "it is not this node's yet"
    table.take()
    assert table.kinds() == [FaultReported, GpuUnhealthy]


def test_a_report_about_another_worker_s_gpu_is_no_event() -> None:
    table = Table()
    sick = peer_pb2.UnhealthyDocument(stamp=2, pid=76, gpu=3, cause="xid", message="m")
    table.report(1, document(2, unhealthy=sick))
    table.take()
    assert not table.events


def test_a_session_is_closed_when_its_home_says_so_and_not_before() -> None:
    table = Table()
    table.report(3, document(1))
    session = table.take()
    table.report(2, present=False)
    table.report(4, present=False, newest=NUMBER - 1)
    assert not table.events and not session.gone, "an older report, and one that did not know it yet"
    table.report(5, present=False)
    assert table.kinds() == [SessionClosed]
    assert session.state is SessionState.CLOSED and session.gone and table.real.is_gone(NUMBER)
    table.report(6, document(9), present=False)
    assert table.real.sessions.get(NUMBER) is None


def test_a_session_of_which_nothing_was_said_is_not_gone() -> None:
    table = Table()
    assert not table.real.is_gone(NUMBER)
    table.report(1, present=False, newest=NUMBER - 1)
    assert not table.real.is_gone(NUMBER)


def test_another_term_begins_anew_what_is_told_and_what_was_stopped_is_recovered() -> None:
    table = Table()
    table.report(1, document(1))
    session = table.take()
    session.heard(peer_pb2.HomeReply(noted=1 << 62))
    assert session.unsent() is None
    again = document(2, term=2)
    again.state.stopped = True
    table.report(2, again)
    assert table.kinds() == [ServiceRestarted] and session.stopped and session.unsent() is not None


def test_a_session_that_was_dropped_comes_back_in_another_term_alone() -> None:
    table = Table()
    table.report(1, document(1))
    with table.changed:
        table.real.drop(table.real.sessions[NUMBER])
    table.report(2, document(2))
    assert NUMBER not in table.real.sessions
    table.report(3, document(3, term=2))
    assert NUMBER in table.real.sessions


def test_what_this_node_does_not_lead_is_left_out() -> None:
    table = Table()
    table.leader = "n3"
    assert table.report(1, document(1)) == [NUMBER]
    assert not table.real.sessions
    table.leader = "n1"
    stranger = document(1)
    stranger.number = (3 << 32) + 1
    assert table.report(2, stranger) == [stranger.number], "a node speaks for its own sessions alone"


def test_a_document_of_another_form_is_refused() -> None:
    table = Table()
    wrong = document(1)
    wrong.state.state = "flying"
    with pytest.raises(ValueError, match="flying"):
        table.report(1, wrong)


def test_states_are_the_same_after_their_way() -> None:
    values = {
        "epoch": 4, "epochs": 5, "stopped": True, "peer_mode": True, "reserve": 6, "failure": "why", "diverged": 7,
        "compared": 8, "uneven": True, "boundaries_apart": 9, "reserves_apart": 10, "hang_seconds": 1.5,
    }  # fmt: skip
    assert set(values) == set(SHARED)
    rank: Any = SimpleNamespace(state=SessionState.LOST, **values)
    message = peer_pb2.RankState.FromString(state_of(rank).SerializeToString())
    other: Any = SimpleNamespace()
    apply(message, other)
    assert vars(other) == values and machine_state(message) is SessionState.LOST


# -- with two nodes -------------------------------------------------------------------------------


def remote(nodes: Rig) -> RemoteSession:
    found = nodes.leader.remote(nodes.numbers[1])
    assert found is not None
    return found


@pytest.mark.parametrize("rank", [0, 1])
def test_a_program_ends_and_the_other_one_goes_on(tmp_path: Path, rank: int) -> None:
    with rig(tmp_path) as nodes:
        gone = remote(nodes)
        nodes.nodes[rank].close_session(nodes.session(rank))
        if rank == 1:
            until(lambda: gone.state is SessionState.CLOSED, SECONDS, "the leader knows")
        nodes.worker(1 - rank).kill()
        nodes.well()


def test_all_programs_end(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        for rank in (1, 0):
            nodes.nodes[rank].close_session(nodes.session(rank))
        until(lambda: not nodes.leader.over_nodes._table.sessions, SECONDS, "nothing is left")
        until(lambda: not nodes.leader.coordinator._jobs, SECONDS, "nothing is recovered")


def test_a_program_ends_in_a_recovery(tmp_path: Path) -> None:
    """Its node says so when it can be reached again; until then it is waited for."""
    with rig(tmp_path) as nodes:
        nodes.wires.cut("n1", "n2")
        nodes.worker(0).kill()
        until(lambda: nodes.leader.coordinator._jobs or None, SECONDS, "a recovery has begun")
        nodes.nodes[1].close_session(nodes.session(1))
        nodes.wires.heal()
        nodes.well()


def test_what_the_leader_decides_is_at_home_and_in_its_log(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        one = remote(nodes)
        with nodes.leader.ranks.changed:
            one.peer_mode, one.reserve, one.uneven, one.hang_seconds = True, 4, True, 2.5
        nodes.leader.ranks.note(one)
        home = nodes.session(1)
        until(lambda: home.reserve == 4, SECONDS, "the home knows")
        assert (home.peer_mode, home.uneven, home.hang_seconds) == (True, True, 2.5)
        left = nodes.nodes[1].log.entries("session/")[str(one.number)]
        assert (left["peer_mode"], left["reserve"]) == (True, 4)


def test_what_changes_without_a_note_comes_as_well(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        remote(nodes).diverged = 3
        until(lambda: nodes.session(1).diverged == 3, SECONDS, "the home knows")


def test_states_are_taken_in_in_their_order(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        one, home = remote(nodes), nodes.session(1)
        one.compared = 5
        first = one.unsent()
        one.compared = 6
        second = one.unsent()
        assert first is not None and second is not None and second.version > first.version
        for note in (second, first):
            reply = nodes.nodes[1].served("n1", "Note", peer_pb2.NoteRequest(target=one.target(), note=note))
            assert (reply.code, reply.noted) == (0, second.version)
        assert home.compared == 6


def test_a_rank_that_is_given_up_has_its_error_at_home(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        nodes.nodes[1].replacing.none_left = "GPU 0 is lost: it fell off the bus"
        nodes.worker(1).kill()
        until(lambda: nodes.session(1).state is SessionState.FAILED, SECONDS, "it has failed at home")
        assert "node n2: GPU 0 is lost: it fell off the bus" in nodes.session(1).failure
        until(lambda: nodes.session(0).state is SessionState.FAILED, SECONDS, "and so has the other one")
        found = nodes.leader.coordinator.reports.documents()[-1]
        assert found["outcome"].startswith("given up: node n2: GPU 0 is lost"), found


def test_a_reported_fault_of_a_remote_rank_is_recovered(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        what = {"sequence": 4, "status": 700, "cause": "sticky-error", "message": "it broke"}
        request = SimpleNamespace(session=nodes.numbers[1], **what)
        before = nodes.worker(1).pid
        nodes.nodes[1].router.fault_reported(request)
        [found] = nodes.well()
        assert (found["cause"], found["message"]) == ("sticky-error", "it broke")
        assert nodes.worker(1).pid != before, "its device was unusable"
        assert not nodes.session(1).stopped


def test_a_gpu_of_another_node_is_reported_as_unhealthy(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        worker: Any = nodes.worker(1)
        nodes.nodes[1].router.post(GpuUnhealthy(0, worker, "xid", "Xid 79"))
        [found] = nodes.well()
        assert (found["cause"], found["message"], found["gpus"]) == ("xid", "Xid 79", [0])
        assert nodes.leader.registry.gpus[0].recoveries == 0, "it was no GPU of this node"


def test_the_end_of_a_worker_comes_with_its_cause(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        nodes.worker(1).kill_with_cause("hung-worker", time.monotonic() - 2, "silent for 2 s")
        [found] = nodes.well()
        assert (found["cause"], found["message"]) == ("hung-worker", "silent for 2 s")
        assert found["phases"]["detect"] >= 2 and found["culprits"] == ["rank 1 (pid 7001 of node n2)"]


def test_a_fault_on_request_is_the_begin_of_its_detection_once(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        injector = nodes.nodes[1].injector
        with injector._lock:
            injector._fired_at[nodes.numbers[1]] = time.monotonic() - 5
        nodes.worker(1).kill()
        [found] = nodes.well()
        assert found["phases"]["detect"] >= 5
        until(lambda: injector.fired_at(nodes.numbers[1]) is None, SECONDS, "its home knows that it was asked about")
        nodes.worker(1).kill()
        assert nodes.well(2)[-1]["phases"]["detect"] < 5


def test_the_store_is_down(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A recovery waits for its epoch, and says so."""
    with rig(tmp_path) as nodes:
        nodes.store.down = True
        nodes.worker(1).kill()
        own, other = nodes.session(0), nodes.numbers[1]
        until(lambda: nodes.leader.ranks.store_trouble(other) or None, SECONDS, "it waits")
        found = nodes.leader.over_nodes.elsewhere(own, nodes.leader.coordinator.waits_for(own))
        assert found.nodes == ["n2"]
        assert found.trouble == "its recovery waits: the cluster's store gives no epoch: no member of the store answers"
        nodes.store.down = False
        nodes.well()
        assert nodes.leader.ranks.store_trouble(other) == ""
        assert nodes.leader.over_nodes.elsewhere(own, "").trouble == ""
    assert capfd.readouterr().err.count("waits for the cluster's store: no member of the store answers") == 1


def test_a_job_of_one_node_asks_nobody(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        alone = nodes.nodes[0].open(5, gpu=1)
        calls, given = len(nodes.wires.calls), list(nodes.store.given)
        assert alone.worker is not None
        alone.worker.kill()
        until(lambda: nodes.leader.coordinator.reports.documents() or None, SECONDS, "it is recovered")
        asked = {method for _, _, method in nodes.wires.calls[calls:]}
        assert nodes.store.given == given and not asked & {"ReplaceWorker", "Place", "Note"}
        assert alone.epoch == 1 and alone.state is SessionState.SERVING


def test_a_remote_rank_has_the_face_of_one_of_this_node(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        rank: Rank = remote(nodes)
        assert rank.machine.can(SessionEvent.FENCE) and rank.node == "n2" and not rank.unreachable()
        assert set(nodes.leader.ranks.sessions) == set(nodes.numbers)
        assert [one.number for one in nodes.leader.ranks.group([rank])] == nodes.numbers
        assert nodes.leader.ranks.job_of(rank) == "pid 7000"
        assert set(nodes.node("n2").ranks.sessions) == set(), "the other node leads nothing"


def test_places_are_told_before_any_rank_goes_on(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        nodes.worker(1).kill()
        nodes.well()
        first, second = nodes.numbers
        assert nodes.nodes[0].places == [(1, {second: 2})] and nodes.nodes[1].places == [(1, {first: 2})]


def test_a_fault_that_its_leader_does_not_know_yet_stays_in_the_log(tmp_path: Path) -> None:
    """A state that the leader told before it heard of the fault does not hide it from the next service."""
    with rig(tmp_path) as nodes:
        one = remote(nodes)
        stand = threading.Event()

        def hold(node: str, other: str, method: str, request: Any) -> None:
            if method == "Report":
                stand.wait(SECONDS)

        nodes.wires.before = hold
        what = {"sequence": 4, "status": 700, "cause": "sticky-error", "message": "it broke"}
        nodes.nodes[1].router.fault_reported(SimpleNamespace(session=one.number, **what))
        one.compared = 9
        one.note()
        until(lambda: nodes.session(1).compared == 9, SECONDS, "the state is there")
        assert nodes.session(1).stopped and nodes.nodes[1].log.entries("session/")[str(one.number)]["stopped"]
        stand.set()
        nodes.well()


@pytest.mark.parametrize("state", ["closed", "opening", "flying"])
def test_a_state_that_no_leader_decides(tmp_path: Path, state: str) -> None:
    with rig(tmp_path) as nodes:
        one = remote(nodes)
        note = peer_pb2.StateNote(version=1 << 60, state=peer_pb2.RankState(state=state, epoch=8))
        request = peer_pb2.NoteRequest(target=one.target(), note=note)
        if state == "flying":
            with pytest.raises(ValueError, match="flying"):
                nodes.nodes[1].served("n1", "Note", request)
        else:
            reply = nodes.nodes[1].served("n1", "Note", request)
            assert reply.text == f"no leader has a session be {state}"
        assert nodes.session(1).state is SessionState.SERVING and nodes.session(1).epoch == 0
