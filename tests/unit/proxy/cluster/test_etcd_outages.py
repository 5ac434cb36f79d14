"""The lines that an operator gets when etcd is away, and when it is back: few, whoever waits for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_rig import LIMIT, Seen, come_back, etcd_engine, put, texts, threads
from toolkit.clock import OwnedClock
from toolkit.etcd import Etcd, etcd, why_not
from toolkit.waiting import until

from jitc.proxy.cluster.store.engine import AnotherCluster, Held, Lost, State, Taken, Unreachable
from jitc.proxy.cluster.store.engines.etcd import outage, watch
from jitc.proxy.cluster.store.engines.etcd.errors import Failure, Kind
from jitc.proxy.cluster.store.engines.etcd.outage import Outage
from jitc.proxy.common.complaints import Complaints

WAITS = "; jobs go on, and what nodes must agree on waits for it"


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Etcd]:
    if reason := why_not():
        pytest.skip(reason)
    with etcd(tmp_path) as cluster:
        yield cluster


def test_what_lasts_is_reported_once() -> None:
    clock, said = OwnedClock(), Seen[str]()
    one = Outage(clock, said)
    for _ in range(3):
        assert one.of(Unreachable("it is away")).reported
        clock.advance(outage.REPORT_SECONDS / 4)
    assert said.all == []
    for _ in range(9):
        clock.advance(outage.REPORT_SECONDS)
        one.of(Unreachable("it is away"))
    assert said.all == [f"it is away{WAITS}"]
    one.of(AnotherCluster("it is another one"))
    assert said.all[1:] == [f"it is another one{WAITS}"]
    for _ in range(2):
        one.answered()
    assert said.all[2:] == [f"the store answers again, after {10 * outage.REPORT_SECONDS:.0f} s"]


def test_an_answer_that_is_missing_once_is_not_reported() -> None:
    clock, said = OwnedClock(), Seen[str]()
    one = Outage(clock, said)
    for _ in range(5):
        one.of(Unreachable("it is away"))
        clock.advance(outage.REPORT_SECONDS / 2)
        one.answered()
        clock.advance(outage.REPORT_SECONDS)
    assert said.all == []


def test_what_has_been_reported_is_not_repeated_by_a_thread(capsys: pytest.CaptureFixture[str]) -> None:
    complaints, error = Complaints("jitc-test"), Unreachable("it is away")
    complaints.of(error)
    error.reported = True
    complaints.of(error)
    assert capsys.readouterr().err.count("it is away") == 1


def test_many_threads_wait_for_etcd(one: Etcd, capfd: pytest.CaptureFixture[str]) -> None:
    said, seen = Seen[str](), Seen[Held | Lost | Taken]()
    states = [Seen[State]() for _ in range(5)]
    engine = etcd_engine(one.endpoints, None, said)
    try:
        for number, each in enumerate(states):
            engine.watch(f"jobs/{number}/", each)
            each.next(State)
        engine.register("nodes/n0", b"here", seen)
        seen.next(Held)
        one.kill(one.members[0])
        seen.next(Lost)
        until(lambda: said.all, LIMIT, "it is reported")
        one.start()
        come_back(lambda: engine.get("nodes/n0"))
        seen.next(Held, after=len(seen.all))
        put(engine, "jobs/4/a", "after")
        states[4].until(lambda state: texts(state) == {"jobs/4/a": "after"})
    finally:
        engine.close()
    until(lambda: not threads(), LIMIT, f"their threads have ended: {threads()}")
    first, last = said.all
    assert first == f"the store does not answer: {one.endpoints}: connection refused{WAITS}"
    assert re.fullmatch(r"the store answers again, after \d+ s", last)
    assert "goes on after" not in capfd.readouterr().err


def test_a_stream_that_ends_again_and_again_is_reported_where_reads_are_answered(
    one: Etcd, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(self: watch.EtcdWatch, *_: object) -> None:
        raise Failure(Kind.LOST, "the stream has ended")

    monkeypatch.setattr(watch.EtcdWatch, "_follow", ended)
    engine, states, said = etcd_engine(one.endpoints), Seen[State](), Seen[str]()
    try:
        engine.watch("jobs/", states)

        def has_been_said() -> bool:
            said(capfd.readouterr().err)
            return "the watch of jobs/ goes on after Unreachable" in "".join(said.all)

        until(has_been_said, LIMIT, "the second time it is said")
        states.until(lambda _: len(states.all) >= 2)
    finally:
        engine.close()
