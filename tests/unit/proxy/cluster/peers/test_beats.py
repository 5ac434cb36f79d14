"""Beats between nodes: who is silent, who is heard again, and what a promise is worth. Time is the test's."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import grpc
import pytest
from peer_rig import Node, Town, caller, raw_call
from toolkit.clock import OwnedClock
from toolkit.waiting import until

from jitc.proxy.cluster.peers import link
from jitc.proxy.cluster.peers.beats import DRIFT, EVERY_SECONDS, JOBS_MOST, KEY_MOST, PROMISE_SECONDS, Beats
from jitc.proxy.cluster.peers.link import PeerError
from jitc.v1 import peer_pb2

HELD, BOUND = PROMISE_SECONDS * (1 - DRIFT), PROMISE_SECONDS * (1 + DRIFT)


class Linked:
    """Links whose other ends are the test."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.asked: list[tuple[str, Any, Future[Any]]] = []
        self.broken: Exception | None = None

    def nodes(self) -> list[str]:
        return self.names

    def ask(self, node: str, method: str, request: Any, seconds: float) -> Future[Any]:
        assert method == "Beat" and seconds > 0
        if self.broken:
            raise self.broken
        answer: Future[Any] = Future()
        self.asked.append((node, request, answer))
        return answer

    def answer(self, promise_ms: int = 3000, load: float = 0.5) -> None:
        """All that was asked."""
        asked, self.asked = self.asked, []
        for _, _, answer in asked:
            answer.set_result(peer_pb2.BeatReply(state=peer_pb2.NodeState(load=load), promise_ms=promise_ms))

    def fail(self) -> None:
        asked, self.asked = self.asked, []
        for node, _, answer in asked:
            answer.set_exception(PeerError(node, grpc.StatusCode.UNAVAILABLE, "cut"))


class Case:
    """A node's beats, with a clock and links of the test's."""

    def __init__(self, *names: str) -> None:
        self.clock, self.links, self.changed = OwnedClock(), Linked(*names), list[str]()
        self.beats = Beats(self.links, self.clock, lambda: peer_pb2.NodeState(sessions=3), self.changed.append)

    def round(self, times: int = 1) -> None:
        for _ in range(times):
            self.clock.advance(EVERY_SECONDS)
            self.beats.tick()

    def seen(self, node: str = "n1") -> Any:
        found = self.beats.seen(node)
        assert found is not None
        return found


@pytest.fixture
def case() -> Case:
    return Case("n1")


# -- silence --------------------------------------------------------------------------------------


def test_each_node_is_asked_once_at_a_time() -> None:
    case = Case("n1", "n2")
    case.round(3)
    assert [node for node, _, _ in case.links.asked] == ["n1", "n2"]
    assert case.links.asked[0][1].state.sessions == 3
    case.links.answer()
    case.round()
    assert [node for node, _, _ in case.links.asked] == ["n1", "n2"]


def test_silent_for_two_seconds_and_heard_again(case: Case) -> None:
    case.round()
    assert not case.seen().reachable and not case.seen().suspected and case.changed == []
    case.links.answer(load=0.25)
    assert case.seen().reachable and case.changed == ["n1"] and case.seen().state.load == 0.25
    heard = case.clock.now()
    case.round(4)  # until two seconds have gone by
    assert case.seen().reachable and case.changed == ["n1"]
    case.round()
    assert case.seen().suspected and not case.seen().reachable and case.changed == ["n1", "n1"]
    assert case.seen().heard == heard and case.seen().state.load == 0.25
    case.round(10)
    assert case.changed == ["n1"] * 2, "it is said once"
    case.links.answer()
    assert case.seen().reachable and case.changed == ["n1"] * 3


def test_a_node_that_never_speaks(case: Case) -> None:
    case.round(5)
    assert not case.seen().suspected
    case.round()
    assert case.seen().suspected and case.seen().heard is None and case.changed == ["n1"]


def test_calls_that_fail_are_silence(case: Case) -> None:
    case.round()
    case.links.answer()
    for _ in range(6):
        case.round()
        case.links.fail()
    assert case.seen().suspected and case.changed == ["n1", "n1"]
    case.round()
    assert len(case.links.asked) == 1, "it is asked again and again"


def test_what_a_node_asks_is_a_sign_of_life_too(case: Case) -> None:
    case.round(6)
    assert case.seen().suspected
    reply = case.beats.answer("n1", peer_pb2.BeatRequest(state=peer_pb2.NodeState(load=2.0)))
    assert case.seen().reachable and case.seen().state.load == 2.0 and reply.state.sessions == 3
    assert case.changed == ["n1", "n1"] and case.beats.holds("n1") == 0.0


def test_who_was_stopped_itself_hears_others_first(case: Case) -> None:
    case.round()
    case.links.answer()
    case.clock.advance(60)
    case.beats.tick()
    assert case.seen().reachable
    case.links.answer()
    case.round()
    assert case.seen().reachable and case.changed == ["n1"]
    for _ in range(2):  # one that is late each time still finds out
        case.clock.advance(3)
        case.beats.tick()
    assert case.seen().suspected


def test_nodes_that_come_and_go(case: Case) -> None:
    case.round(6)
    case.links.names[:] = ["n2"]
    case.round()
    assert case.beats.seen("n1") is None and not case.seen("n2").suspected
    case.links.answer()  # also the one that n1 owed
    assert case.beats.seen("n1") is None and case.seen("n2").reachable
    case.links.names[:] = ["n1", "n2"]
    case.round()
    assert not case.seen("n1").suspected and case.seen("n1").since == case.clock.now()


# -- promises -------------------------------------------------------------------------------------


def test_a_promise_counts_from_before_it_was_asked_for(case: Case) -> None:
    case.round()
    sent = case.clock.now()
    case.clock.advance(1.5)
    case.links.answer()
    assert case.beats.holds("n1") == pytest.approx(sent + HELD)


def test_an_older_promise_holds_beside_a_shorter_one(case: Case) -> None:
    case.round()
    sent = case.clock.now()
    case.links.answer()
    for promise_ms in (0, 1000):
        case.round()
        case.links.answer(promise_ms)
    assert case.beats.holds("n1") == pytest.approx(sent + HELD)
    assert case.beats.holds("n9") == 0.0


def test_what_is_promised_binds_for_longer_than_it_is_relied_on(case: Case) -> None:
    case.clock.advance(10)
    before = case.clock.now()
    reply = case.beats.answer("n1", peer_pb2.BeatRequest())
    assert reply.promise_ms == PROMISE_SECONDS * 1000
    assert case.beats.promised("n1") == pytest.approx(before + BOUND) and BOUND > HELD
    case.clock.advance(1)
    assert case.beats.promised("n1") == pytest.approx(before + BOUND)


def test_a_promise_is_noted_before_it_is_given(case: Case) -> None:
    """What the answer carries is asked for when the promise stands."""
    noted = []
    beats = Beats(
        case.links, case.clock, lambda: noted.append(beats.promised("n1")) or peer_pb2.NodeState(), case.changed.append
    )
    case.clock.advance(10)
    beats.answer("n1", peer_pb2.BeatRequest())
    assert noted == [pytest.approx(case.clock.now() + BOUND)]


def test_a_service_is_bound_by_what_the_one_before_may_have_promised(case: Case) -> None:
    begun = case.clock.now()
    assert case.beats.promised("n1") == case.beats.promised("n2") == pytest.approx(begun + BOUND)
    case.clock.advance(100)
    assert case.beats.promised("n1") < case.clock.now()


def test_a_promise_outlives_the_link(case: Case) -> None:
    case.clock.advance(10)
    case.beats.answer("n1", peer_pb2.BeatRequest())
    bound = case.beats.promised("n1")
    case.links.names[:] = []
    case.round()
    assert case.beats.promised("n1") == bound


# -- what goes wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "state",
    [
        peer_pb2.NodeState(jobs=[peer_pb2.JobSeen(job="j")] * (JOBS_MOST + 1)),
        peer_pb2.NodeState(jobs=[peer_pb2.JobSeen(job="j" * (KEY_MOST + 1))]),
    ],
)
def test_a_state_that_is_too_large_is_none(case: Case, state: Any, capsys: pytest.CaptureFixture[str]) -> None:
    case.round()
    case.links.asked.pop()[2].set_result(peer_pb2.BeatReply(state=state, promise_ms=3000))
    assert case.seen().heard is None and case.beats.holds("n1") == 0.0
    assert f"at most {JOBS_MOST} jobs" in capsys.readouterr().err
    with pytest.raises(ValueError, match="at most"):
        case.beats.answer("n1", peer_pb2.BeatRequest(state=state))
    assert case.seen().heard is None


def test_what_raises_ends_nothing(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    case.links.broken = RuntimeError("no link")
    case.round()
    case.links.broken = None
    case.round()
    assert len(case.links.asked) == 1

    def fail(node: str) -> None:
        raise RuntimeError(f"{node} has changed")

    case.beats._changed = fail
    case.links.answer()
    assert case.seen().reachable
    case.beats.answer("n1", peer_pb2.BeatRequest())
    said = capsys.readouterr().err
    assert said.count("jitc-beats goes on after RuntimeError: no link") == 1 and "n1 has changed" in said


def test_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on after a round that fails."""
    case = Case("n1")
    states = iter([RuntimeError("no state")])

    def state() -> Any:
        if error := next(states, None):
            raise error
        return peer_pb2.NodeState()

    monkeypatch.setattr("jitc.proxy.cluster.peers.beats.EVERY_SECONDS", 0.01)
    beats = Beats(case.links, case.clock, state, case.changed.append)
    beats.start()
    until(lambda: bool(case.links.asked), 30, "a beat is sent")
    beats.stop()
    assert not [one for one in threading.enumerate() if one.name == "jitc-beats"]


# -- over real links ------------------------------------------------------------------------------


def beating(town: Town, name: str, clock: OwnedClock) -> tuple[Node, Beats]:
    node = town.node(name)
    beats = Beats(node.peers, clock, lambda: peer_pb2.NodeState(load=len(name)), lambda _: None)
    node.beat = lambda request: beats.answer(node.called[-1], request)
    return node, beats


def test_two_services(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "SHOW_SECONDS", 30.0)
    monkeypatch.setattr(link, "HELLO_SECONDS", 30.0)
    monkeypatch.setattr("jitc.proxy.cluster.peers.beats.SUSPECT_SECONDS", 30.0)
    clocks = OwnedClock(1000.0), OwnedClock(5000.0)
    (one, ours), (other, theirs) = (
        beating(town, name, clock) for name, clock in zip(("n0", "n1"), clocks, strict=True)
    )
    one.link(other)
    clocks[1].advance(10)
    ours.tick()
    until(lambda: (seen := ours.seen("n1")) and seen.reachable, 60, "it is heard")
    assert ours.holds("n1") == pytest.approx(1000.0 + HELD)
    assert theirs.promised("n0") == pytest.approx(5010.0 + BOUND)
    assert theirs.seen("n0") is None, "it has not linked this node yet"
    too_much = peer_pb2.NodeState(jobs=[peer_pb2.JobSeen(job="j" * (KEY_MOST + 1))])
    data = peer_pb2.BeatRequest(state=too_much).SerializeToString()
    code, text = raw_call(other, one.credentials.identity, data, caller("n0"))
    assert code is grpc.StatusCode.INVALID_ARGUMENT and "at most" in text
