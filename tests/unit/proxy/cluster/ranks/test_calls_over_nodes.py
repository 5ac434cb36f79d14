"""Errands, calls to workers of other nodes, and what a home refuses of whatever another node asks for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from nodes_rig import SECONDS, Rig, rig
from toolkit.waiting import until

from jitc.proxy.cluster.peers.link import PeerError
from jitc.proxy.cluster.ranks.errands import Errands
from jitc.proxy.cluster.ranks.home.calls import KEPT
from jitc.proxy.cluster.ranks.joining import Joining
from jitc.proxy.cluster.ranks.leader.call import PatientCall, RemoteCall
from jitc.proxy.cluster.ranks.leadership import Cluster
from jitc.proxy.ranks.events import PendingValidation
from jitc.v1 import peer_pb2, worker_pb2

UNAVAILABLE = PeerError("n2", grpc.StatusCode.UNAVAILABLE, "the way is cut")
LATE = PeerError("n2", grpc.StatusCode.DEADLINE_EXCEEDED, "no answer")


class Way:
    """The way to a node, whose answers a test gives. answer: returns a reply or raises."""

    def __init__(self, answer: Callable[[str, Any], Any]) -> None:
        self.answer, self.asked = answer, list[str]()
        jobs: Any = None
        self.suspects = False
        self.errands = Errands(Cluster("n1", jobs, self, lambda node: self.suspects))
        self.errands.start()

    def ask(self, node: str, method: str, request: Any, seconds: float) -> Future[Any]:
        self.asked.append(method)
        found: Future[Any] = Future()
        try:
            found.set_result(self.answer(method, request))
        except Exception as error:
            found.set_exception(error)
        return found


class Task:
    """An errand that is over when it has been answered so often."""

    node, seconds = "n2", 5.0

    def __init__(self, method: str = "Note", answers: int = 1) -> None:
        self.method, self.left = method, answers
        self.over, self.wanted, self.lates = threading.Event(), True, 0

    def request(self) -> Any | None:
        if not self.wanted:
            self.over.set()
        return self.method if self.wanted else None

    def answered(self, reply: Any) -> float | None:
        self.left -= 1
        if self.left:
            return 0.0
        self.over.set()
        return None

    def late(self, why: str) -> None:
        self.lates += 1


def cut(method: str, request: Any) -> Any:
    raise UNAVAILABLE


def test_an_errand_is_repeated_until_it_is_answered() -> None:
    way, task = Way(cut), Task()
    way.errands.add(task)
    until(lambda: len(way.asked) > 2, SECONDS, "it is asked again")
    assert way.errands.unreachable("n2") == "node n2 cannot be reached: the way is cut"
    assert not way.errands.unreachable("n3")
    way.answer = lambda method, request: request
    assert task.over.wait(SECONDS)
    assert not way.errands.unreachable("n2")
    way.errands.stop()


def test_many_errands_for_a_node_that_is_away_are_one_request_at_a_time() -> None:
    inside, most = threading.Lock(), list[bool]()

    def one_at_a_time(method: str, request: Any) -> Any:
        most.append(inside.acquire(blocking=False))
        try:
            raise UNAVAILABLE
        finally:
            if most[-1]:
                inside.release()

    way = Way(one_at_a_time)
    tasks = [Task() for _ in range(6)]
    for task in tasks:
        way.errands.add(task)
    until(lambda: len(most) > 8, SECONDS, "each was tried")
    assert all(most)
    way.answer = lambda method, request: request
    way.errands.retry("n2")
    assert all(task.over.wait(SECONDS) for task in tasks)
    way.errands.stop()


def test_an_errand_that_is_not_wanted_any_more_ends() -> None:
    way, task = Way(cut), Task()
    way.errands.add(task)
    until(lambda: way.asked, SECONDS, "it is asked")
    task.wanted = False
    assert task.over.wait(SECONDS)
    way.errands.stop()


def test_a_node_is_found_to_be_back_though_nothing_is_to_be_asked() -> None:
    way = Way(cut)
    with pytest.raises(PeerError):
        way.errands.ask("n2", "CallWorker", None, 1).result()
    assert way.errands.unreachable("n2")
    way.answer = lambda method, request: request
    until(lambda: not way.errands.unreachable("n2"), SECONDS, "it is asked whether it is there")
    assert way.asked[-1] == "Hello"
    way.errands.stop()


def test_a_node_that_answers_with_an_error_is_there() -> None:
    def refuse(method: str, request: Any) -> Any:
        raise PeerError("n2", grpc.StatusCode.INTERNAL, "a defect")

    way, task = Way(refuse), Task()
    way.errands.add(task)
    until(lambda: task.lates > 1, SECONDS, "it is told, and asks again")
    assert not way.errands.unreachable("n2")
    way.errands.stop()


def test_a_suspected_node_is_unreachable() -> None:
    way = Way(cut)
    way.suspects = True
    assert way.errands.unreachable("n2") == "node n2 cannot be reached: it has not been heard for a while"
    way.errands.stop()


def test_a_defect_of_one_errand_stops_no_other(capfd: pytest.CaptureFixture[str]) -> None:
    way, good = Way(lambda method, request: request), Task()
    bad: Any = Task()
    bad.request = lambda: 1 // 0
    way.errands.add(bad)
    way.errands.add(good)
    assert good.over.wait(SECONDS)
    way.errands.stop()
    assert "ZeroDivisionError" in capfd.readouterr().err


# -- calls ------------------------------------------------------------------------------------------


def whose(**more: Any) -> Any:
    found = SimpleNamespace(node="n2", term=1, gone=False, unreachable=lambda: "", heard=lambda home: None)
    return SimpleNamespace(**vars(found) | more)


def call_of(session: Any) -> PatientCall:
    return PatientCall(session, "CallWorker", 5.0, lambda seconds: "request", lambda reply: "result")


def test_a_call_that_is_answered() -> None:
    call = call_of(whose())
    assert call.request() == "request"
    assert call.answered(peer_pb2.HomeReply()) is None
    assert call.future.result() == "result" and call.future.code() is grpc.StatusCode.OK
    assert call.request() is None


def test_a_call_that_a_home_refuses_as_of_another_leader_waits_for_the_next_term() -> None:
    session = whose()
    call = call_of(session)
    refusal = peer_pb2.HomeReply(code=grpc.StatusCode.ABORTED.value[0], text="you do not lead")
    assert call.answered(refusal) is not None and not call.future.done()
    session.term = 2
    assert call.request() is None
    assert call.future.code() is grpc.StatusCode.ABORTED


def test_a_call_ends_with_its_session() -> None:
    session = whose()
    call = call_of(session)
    session.gone = True
    assert call.request() is None and call.future.code() is grpc.StatusCode.ABORTED


def test_a_late_answer_counts_only_if_the_node_is_there() -> None:
    session = whose(unreachable=lambda: "node n2 cannot be reached")
    call = call_of(session)
    call.late("no answer within 5 s")
    assert not call.future.done()
    session.unreachable = lambda: ""
    call.late("no answer within 5 s")
    assert call.future.code() is grpc.StatusCode.DEADLINE_EXCEEDED


def test_an_answer_that_cannot_be_read_is_an_error_of_the_call() -> None:
    call = PatientCall(whose(), "CallWorker", 5.0, lambda seconds: None, lambda reply: 1 // 0)
    call.answered(peer_pb2.HomeReply())
    assert call.future.code() is grpc.StatusCode.INTERNAL


def test_a_future_has_the_face_of_one_of_grpc() -> None:
    future, called = RemoteCall(), list[Any]()
    future.add_done_callback(called.append)
    assert not future.done()
    future.fail(grpc.StatusCode.UNAVAILABLE, "gone")
    future.finish("too late")
    assert called == [future] and future.details() == "gone"
    with pytest.raises(grpc.RpcError):
        future.result()
    cancelled = RemoteCall()
    assert cancelled.cancel() and cancelled.cancelled() and cancelled.done() and not cancelled.cancel()
    with pytest.raises(grpc.FutureCancelledError):
        cancelled.result()


# -- what a home does -------------------------------------------------------------------------------


def asked(nodes: Rig, method: str = "Stats", call: bytes = b"", message: Any = None, **target: Any) -> Any:
    one = nodes.leader.remote(nodes.numbers[1])
    assert one is not None and one.worker is not None
    who = one.target(one.worker.pid)
    for name, value in target.items():
        setattr(who, name, value)
    data = message if isinstance(message, bytes) else (message or worker_pb2.Empty()).SerializeToString()
    request = peer_pb2.CallWorkerRequest(target=who, method=method, request=data, timeout_ms=5000, call=call)
    return nodes.nodes[1].served("n1", "CallWorker", request)


@pytest.mark.parametrize(
    ("changes", "code", "text"),
    [
        ({"method": "Assign"}, "INVALID_ARGUMENT", "'Assign' is nothing that another node may ask for"),
        ({"method": "CloseSession"}, "INVALID_ARGUMENT", "nothing that another node may ask for"),
        ({"method": "__init__"}, "INVALID_ARGUMENT", "nothing that another node may ask for"),
        ({"method": "Fence", "message": b"\xff\xff\xff"}, "INVALID_ARGUMENT", "cannot be read"),
        (
            {"method": "Fence", "message": worker_pb2.SessionRequest(session=1, epoch=1)},
            "INVALID_ARGUMENT", "for another session than its target",
        ),
        ({"session": 99}, "NOT_FOUND", "session 99 has ended on node n2"),
        ({"worker": 1}, "UNAVAILABLE", "another worker by now"),
        ({"term": 1}, "ABORTED", "does not lead this job"),
    ],
)  # fmt: skip
def test_what_a_home_refuses(tmp_path: Path, changes: dict[str, Any], code: str, text: str) -> None:
    with rig(tmp_path) as nodes:
        reply = asked(nodes, **changes)
        assert (reply.home.code, text in reply.home.text) == (grpc.StatusCode[code].value[0], True), reply
        assert nodes.worker(1).alive()


def test_a_repeated_call_is_made_once(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        fence = worker_pb2.SessionRequest(session=nodes.numbers[1], epoch=1)
        replies = [asked(nodes, "Fence", b"7" * 16, fence) for _ in range(3)]
        assert replies[0].reply == replies[1].reply == replies[2].reply
        assert nodes.worker(1).called.count(("Fence", 1)) == 1
        for number in range(KEPT):
            asked(nodes, "Fence", bytes([number]) * 16, fence)
        asked(nodes, "Fence", b"7" * 16, fence)
        assert nodes.worker(1).called.count(("Fence", 1)) == KEPT + 2, "it was so long ago"


def test_a_repeated_call_waits_for_the_first_one(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        inside, goes_on, replies = threading.Event(), threading.Event(), list[Any]()

        def stand(method: str) -> None:
            if method == "Fence":
                inside.set()
                goes_on.wait(SECONDS)

        nodes.worker(1).before = stand
        fence = worker_pb2.SessionRequest(session=nodes.numbers[1], epoch=1)

        def ask() -> None:
            replies.append(asked(nodes, "Fence", b"7" * 16, fence))

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for one in threads:
            one.start()
        assert inside.wait(SECONDS)
        goes_on.set()
        for one in threads:
            one.join()
        assert replies[0] == replies[1] and nodes.worker(1).called.count(("Fence", 1)) == 1


def test_an_answer_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jitc.proxy.cluster.ranks.home.calls.ANSWER_MOST", 10)
    with rig(tmp_path) as nodes:
        reply = asked(nodes)
        assert reply.home.code == grpc.StatusCode.OUT_OF_RANGE.value[0] and "bytes" in reply.home.text


def test_a_report_that_is_too_long(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes, pytest.raises(ValueError, match="at most 4096 sessions"):
        nodes.nodes[0].served("n2", "Report", peer_pb2.SessionsReport(present=range(5000)))


def test_a_node_that_is_suspected_is_asked_by_recoveries_alone(tmp_path: Path) -> None:
    """Other questions do not wait for it."""
    with rig(tmp_path) as nodes:
        one = nodes.leader.remote(nodes.numbers[1])
        assert one is not None and one.worker is not None
        nodes.wires.cut("n1", "n2")
        first = one.worker.ask("Stats", worker_pb2.Empty(), 5)
        assert isinstance(first.exception(), grpc.RpcError)
        calls = len(nodes.wires.calls)
        again = one.worker.ask("Stats", worker_pb2.Empty(), 5)
        assert again.code() is grpc.StatusCode.UNAVAILABLE and "node n2 cannot be reached" in again.details()
        assert ("n1", "n2", "CallWorker") not in nodes.wires.calls[calls:]


# -- validations ------------------------------------------------------------------------------------


def test_a_validation_is_begun_where_the_job_is_led(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with rig(tmp_path) as nodes:
        wanted = list[tuple[int, int]]()

        def validate(gpu: int, session: int = 0) -> PendingValidation:
            wanted.append((gpu, session))
            found = PendingValidation(gpu, session)
            found.document = {"outcome": "identical"}
            found.done.set()
            return found

        monkeypatch.setattr(nodes.leader.coordinator, "validate", validate)
        pending = nodes.nodes[1].router.validate(0)
        until(pending.done.is_set, SECONDS, "it is done")
        assert pending.document == {"outcome": "identical"} and wanted == [(0, nodes.numbers[1])]
        assert nodes.nodes[0].router.validate(0).document == {"outcome": "identical"}
        assert wanted[1:] == [(0, 0)]


def test_a_validation_that_is_refused(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        nodes.store.leader = None
        refused = nodes.nodes[1].router.validate(0)
        assert refused.refusal.startswith("no node leads the job at present")
        nodes.nodes[1].view.late = "n1"
        pending = nodes.nodes[1].router.validate(0)
        until(pending.done.is_set, SECONDS, "it is refused")
        assert pending.refusal == "node n1 does not lead the job any more; ask again"


# -- before there is a cluster ----------------------------------------------------------------------


def test_before_it_is_a_member_a_node_leads_its_own_jobs() -> None:
    joining, told = Joining("n1", 1), list[int]()
    cluster = joining.cluster()
    cluster.jobs.follow(lambda: told.append(1))
    own, other = (1 << 32) + 1, (2 << 32) + 1
    assert cluster.jobs.leader_of(own) == "n1" and cluster.jobs.leader_of(other) is None
    assert cluster.jobs.connected([own]) == {own} and cluster.jobs.node_of(own) == "n1"
    with pytest.raises(Exception, match="not in its cluster yet"):
        cluster.jobs.next_epoch([own], 0)
    with pytest.raises(grpc.RpcError, match="not in its cluster yet"):
        cluster.links.ask("n2", "Hello", None, 1).result()
    jobs: Any = SimpleNamespace(leader_of=lambda number: "n7", follow=lambda callback: callback())
    links: Any = None
    joining.join(jobs, links, suspected=lambda node: True)
    assert cluster.jobs.leader_of(other) == "n7" and cluster.suspected("n2") and told
    joining.leave()
    assert cluster.jobs.leader_of(other) is None
