"""The engine for etcd, where its connections, its etcd or its answers are not as they should be."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from engine_rig import LIMIT, SHORT, EtcdRig, Seen, come_back, etcd_engine, put, remove, texts, threads, value, write
from toolkit.etcd import Etcd, etcd
from toolkit.nodes.links import Direction, Links
from toolkit.ranks import free_port
from toolkit.waiting import patient, until

from jitc.proxy.cluster.store.engine import (
    VALUE_MOST,
    VALUES_MOST,
    AnotherCluster,
    Change,
    Conflict,
    Entry,
    Held,
    Lost,
    Member,
    Refused,
    State,
    Swapped,
    Taken,
    Unknown,
    Unreachable,
)
from jitc.proxy.cluster.store.engines.etcd import channel, records, watch
from jitc.proxy.cluster.store.engines.etcd.channel import MESSAGE_LIMIT
from jitc.proxy.cluster.store.engines.etcd.engine import EtcdEngine

Events = Seen[Held | Lost | Taken]


@pytest.fixture
def store(one_etcd: Etcd) -> Iterator[EtcdRig]:
    rig = EtcdRig(one_etcd)
    yield rig
    rig.close()


@pytest.fixture
def own(tmp_path: Path, one_etcd: Etcd) -> Iterator[Etcd]:
    """An etcd of the test's own; one_etcd: says whether there is one at all."""
    with etcd(tmp_path / "own") as cluster:
        yield cluster


@pytest.fixture
def links() -> Iterator[Links]:
    with Links() as made:
        yield made


class Engines:
    """Engines of a test, for whatever addresses."""

    def __init__(self) -> None:
        self.all: list[EtcdEngine] = []
        self.reports = Seen[str]()

    def open(self, *addresses: object, lease_seconds: float = 5.0) -> EtcdEngine:
        """addresses: HOST:PORT, or pairs of them."""
        named = [one if isinstance(one, str) else "{}:{}".format(*one) for one in addresses]  # type: ignore[misc]
        self.all.append(etcd_engine(",".join(named), None, self.reports, lease_seconds))
        return self.all[-1]


@pytest.fixture
def engines() -> Iterator[Engines]:
    made = Engines()
    yield made
    for one in made.all:
        one.close()
    until(lambda: not threads(), LIMIT, f"their threads have ended: {threads()}")


def closed_port() -> str:
    """Returns an address at which nothing listens."""
    return f"127.0.0.1:{free_port()}"


# ---- addresses ----------------------------------------------------------------------------------
def test_its_keys_lie_under_its_own_prefix(store: EtcdRig) -> None:
    engine = store.node()
    put(engine, f"{store.prefix}a", "mine")
    [member] = store.etcd.members
    assert member.get(f"jitc/{store.prefix}a") == "mine"
    member.put(f"{store.prefix}a", "theirs")
    assert texts(engine.list(store.prefix), store.prefix) == {"a": "mine"}


def test_members_are_shown_also_those_that_do_not_answer(store: EtcdRig, engines: Engines) -> None:
    nowhere = closed_port()
    there, gone = engines.open(store.etcd.endpoints, nowhere).members()
    assert there == Member(store.etcd.endpoints, there.version, True, "") and there.version.startswith("3.")
    assert gone == Member(nowhere, "", False, "connection refused")


def test_proxies_of_the_environment_do_not_apply(store: EtcdRig, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "grpc_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://{closed_port()}")
    monkeypatch.delenv("no_proxy", raising=False)
    assert store.node().get(f"{store.prefix}a") is None


def test_an_address_at_which_nothing_listens_is_passed_over(store: EtcdRig, engines: Engines) -> None:
    for number in range(2):
        engine = engines.open(closed_port(), store.etcd.endpoints)
        if number:
            assert engine.get(f"{store.prefix}a")
        assert isinstance(engine.compare_and_swap([Change(f"{store.prefix}{'ab'[number]}", 0, b"")]), Swapped)


def test_the_text_names_each_address_and_why(engines: Engines, one_etcd: Etcd) -> None:
    first, second = closed_port(), "nowhere.invalid:2379"
    engine = engines.open(first, second)
    for call in (lambda: engine.get("a"), lambda: engine.list("a"), lambda: engine.grant(5)):
        with pytest.raises(Unreachable) as error:
            call()
        assert f"{first}: connection refused; {second}: its name cannot be resolved" in str(error.value)
        assert "\n" not in str(error.value)
    outcome = engine.compare_and_swap([Change("a", 0, b"")])
    assert isinstance(outcome, Unknown) and f"{first}: connection refused" in outcome.why


def test_an_address_that_accepts_and_says_nothing_is_passed_over(store: EtcdRig, engines: Engines) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        engine = engines.open(silent.getsockname(), store.etcd.endpoints)
        assert engine.get(f"{store.prefix}a") is None
        alone = engines.open(silent.getsockname())
        with pytest.raises(Unreachable, match=r"it takes connections and says nothing|no answer in time"):
            alone.get("a")


def test_a_server_that_is_no_etcd_is_passed_over(store: EtcdRig, engines: Engines) -> None:
    server = grpc.server(ThreadPoolExecutor(1))
    address = "127.0.0.1:{}".format(server.add_insecure_port("127.0.0.1:0"))
    server.start()
    with pytest.raises(Unreachable, match=rf"{address}: it is no etcd"):
        engines.open(address).get("a")
    engine = engines.open(address, store.etcd.endpoints)
    assert isinstance(engine.compare_and_swap([Change(f"{store.prefix}a", 0, b"")]), Swapped)
    server.stop(None).wait()


def test_what_does_not_speak_grpc_is_named(engines: Engines) -> None:
    def serve() -> None:
        while True:
            try:
                one, _ = server.accept()
            except OSError:
                return
            with one:
                one.recv(1000)
                one.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(Unreachable) as error:
            engines.open(server.getsockname()).get("a")
        assert str(server.getsockname()[1]) in str(error.value)
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


# ---- answers ------------------------------------------------------------------------------------
def test_a_write_whose_answer_is_lost_may_have_happened(store: EtcdRig, engines: Engines, links: Links) -> None:
    link, key = links.open(store.etcd.members[0].client), f"{store.prefix}a"
    other = store.node()
    engine = engines.open(link.address, store.etcd.endpoints)
    assert engine.get(key) is None
    link.one_way(Direction.BACK)
    outcome = engine.compare_and_swap([Change(key, 0, b"written")])
    assert isinstance(outcome, Unknown) and "{}:{}: no answer in time".format(*link.address) in outcome.why
    assert value(other.get(key)) == b"written"
    assert isinstance(engine.compare_and_swap([Change(f"{key}b", 0, b"")]), Swapped), "at the other address"


def test_a_write_whose_connection_breaks_may_have_happened(store: EtcdRig, engines: Engines, links: Links) -> None:
    link, key = links.open(store.etcd.members[0].client), f"{store.prefix}a"
    engine, outcomes = engines.open(link.address), []
    assert engine.get(key) is None
    link.one_way(Direction.BACK)
    thread = threading.Thread(target=lambda: outcomes.append(engine.compare_and_swap([Change(key, 0, b"")])))
    thread.start()
    other = store.node()
    until(lambda: other.get(key), LIMIT, "the request has come")
    link.drop()
    thread.join(patient(LIMIT))
    assert [type(one) for one in outcomes] == [Unknown]


@pytest.mark.slow
def test_a_store_that_takes_nearly_a_second_for_each_answer_serves(
    store: EtcdRig, engines: Engines, links: Links
) -> None:
    link, key = links.open(store.etcd.members[0].client), f"{store.prefix}a"
    engine = engines.open(link.address)
    assert engine.get(key) is None
    seen, states = Events(), Seen[State]()
    engine.watch(store.prefix, states)
    states.next(State)
    link.delay(0.4)
    put(engine, key, "slow")
    states.until(lambda state: texts(state, store.prefix) == {"a": "slow"})
    registration = engine.register(f"{store.prefix}nodes/n0", b"slow", seen)
    seen.next(Held)
    before = registration.valid_until
    until(lambda: registration.valid_until > before, LIMIT, "it is renewed")
    assert [type(one) for one in seen.all] == [Held]


def test_a_key_that_is_no_text_does_no_harm(store: EtcdRig) -> None:
    engine = store.node()
    key = base64.b64encode(b"jitc/" + store.prefix.encode() + b"\xff\n").decode()
    store.etcd.members[0].call("/v3/kv/put", {"key": key, "value": ""})
    put(engine, f"{store.prefix}a", "text")
    states = Seen[State]()
    engine.watch(store.prefix, states)
    assert set(texts(states.next(State), store.prefix)) == {"a", "\\xff\n"}


def test_entries_that_are_too_large_for_one_answer_are_refused(store: EtcdRig) -> None:
    engine, large = store.node(), bytes(VALUE_MOST)
    together = VALUES_MOST // VALUE_MOST
    for first in range(0, MESSAGE_LIMIT // VALUE_MOST, together):
        changes = [Change(f"{store.prefix}large/{number}", 0, large) for number in range(first, first + together)]
        assert isinstance(write(engine, *changes), Swapped)
    with pytest.raises(Refused, match="too large for one answer"):
        engine.list(store.prefix)
    assert value(engine.get(f"{store.prefix}large/0")) == large


# ---- watches ------------------------------------------------------------------------------------
def test_a_watch_whose_connection_breaks_misses_nothing(store: EtcdRig, engines: Engines, links: Links) -> None:
    link, other = links.open(store.etcd.members[0].client), store.node()
    put(other, f"{store.prefix}a", "1")
    put(other, f"{store.prefix}b", "1")
    states = Seen[State]()
    engines.open(link.address).watch(store.prefix, states)
    states.until(lambda state: texts(state, store.prefix) == {"a": "1", "b": "1"})
    for number in range(2, 5):
        link.cut()
        put(other, f"{store.prefix}a", str(number))
        if number == 3:
            remove(other, f"{store.prefix}b")
        link.drop()
        link.heal()
        states.until(lambda state, number=number: texts(state, store.prefix).get("a") == str(number))  # type: ignore[misc]
    assert texts(states.all[-1], store.prefix) == {"a": "4"}


def test_a_watch_goes_where_calls_have_gone(
    store: EtcdRig, engines: Engines, links: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The member that they have left may say nothing for long, and ends no stream."""
    options = [one for one in channel._OPTIONS if "keepalive" not in one[0] and "ping" not in one[0]]
    monkeypatch.setattr(channel, "_OPTIONS", options)
    link, other = links.open(store.etcd.members[0].client), store.node()
    engine, states = engines.open(link.address, store.etcd.endpoints), Seen[State]()
    engine.watch(store.prefix, states)
    states.next(State)
    link.cut()
    put(other, f"{store.prefix}a", "after")
    assert value(engine.get(f"{store.prefix}a")) == b"after"
    until(lambda: any(state.entries for state in states.all), watch.STREAM_SECONDS / 2, "it is seen")


def test_a_watch_reads_all_again_where_etcd_has_forgotten_the_changes(
    store: EtcdRig, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As one does that has read a state, and opens its stream after a compaction."""
    engine, [member] = store.node(), store.etcd.members
    for number in range(5):
        last = put(engine, f"{store.prefix}a", str(number))
    member.call("/v3/kv/compaction", {"revision": last, "physical": True})
    asked = Seen[int]()
    real = records.watch_request

    def once_too_old(prefix: str, revision: int) -> object:
        asked(revision)
        return real(prefix, 1 if len(asked.all) == 1 else revision)

    monkeypatch.setattr(watch, "watch_request", once_too_old)
    states = Seen[State]()
    engine.watch(store.prefix, states)
    asked.until(lambda _: len(asked.all) == 2)
    put(engine, f"{store.prefix}a", "after")
    states.until(lambda state: texts(state, store.prefix) == {"a": "after"})
    assert "the watch of" not in capfd.readouterr().err, "that is no trouble"


def test_a_watch_reads_all_again_now_and_then(store: EtcdRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "STREAM_SECONDS", 0.1)
    engine, states = store.node(), Seen[State]()
    put(engine, f"{store.prefix}a", "kept")
    engine.watch(store.prefix, states)
    states.until(lambda _: len(states.all) >= 3)
    assert {value(state.entries[f"{store.prefix}a"]) for state in states.all} == {b"kept"}


# ---- stores that come and go --------------------------------------------------------------------
def test_a_store_that_is_not_there_at_the_start_comes_later(tmp_path: Path, own: Etcd, engines: Engines) -> None:
    [member] = own.members
    own.kill(member)
    engine, seen, states = engines.open(own.endpoints), Events(), Seen[State]()
    registration = engine.register("nodes/n0", b"here", seen)
    engine.watch("nodes/", states)
    with pytest.raises(Unreachable, match="connection refused"):
        engine.get("nodes/n0")
    assert not registration.holds
    own.start(member)
    seen.next(Held)
    states.until(lambda state: texts(state) == {"nodes/n0": "here"})


def test_a_store_that_has_gone_is_a_lease_that_is_lost_and_comes_again(own: Etcd, engines: Engines) -> None:
    [member] = own.members
    engine, seen, states = engines.open(own.endpoints, lease_seconds=SHORT), Events(), Seen[State]()
    registration = engine.register("nodes/n0", b"here", seen)
    engine.watch("nodes/", states)
    seen.next(Held)
    own.kill(member)
    lost = seen.next(Lost)
    assert own.endpoints in lost.why and not registration.holds
    own.start(member)
    seen.next(Held, after=2)
    put(engine, "nodes/n1", "after")
    states.until(lambda state: set(texts(state)) == {"nodes/n0", "nodes/n1"})


def test_a_wiped_store_is_told_and_filled_again(own: Etcd, engines: Engines) -> None:
    engine, seen, states = engines.open(own.endpoints), Events(), Seen[State]()
    registration = engine.register("nodes/n0", b"here", seen)
    first = seen.next(Held)
    engine.watch("", states)
    for number in range(5):
        put(engine, "jobs/1", str(number))
    entry = engine.get("jobs/1")
    assert entry
    states.until(lambda state: texts(state).get("jobs/1") == "4")
    own.wipe()
    again = seen.next(Held, after=1)
    assert registration.holds and again.revision > entry.revision > first.revision, "revisions do not go back"
    states.until(lambda state: texts(state) == {"nodes/n0": "here"})
    assert sum("wiped" in one for one in engines.reports.all) == 1
    assert engine.compare_and_swap([Change("jobs/1", entry.revision, b"late")]) == Conflict({"jobs/1": None})
    revision = put(engine, "jobs/1", "new")
    last = states.until(lambda state: "jobs/1" in state.entries and state.revision > entry.revision)
    assert last.entries["jobs/1"] == engine.get("jobs/1") == Entry(b"new", revision)


def test_an_entry_of_before_a_loss_is_not_taken_for_one_of_after_it(own: Etcd, engines: Engines) -> None:
    """Whatever revision it has in etcd."""
    engine, [member] = engines.open(own.endpoints), own.members
    for number in range(5):
        expected = put(engine, "jobs/1", str(number))
    own.wipe()
    assert come_back(lambda: engine.get("jobs/1")) is None

    def revision() -> int:
        key = base64.b64encode(b"jitc/jobs/1").decode()
        return int(member.call("/v3/kv/range", {"key": key}).get("kvs", [{"mod_revision": 0}])[0]["mod_revision"])

    while revision() < expected:
        member.put("jitc/jobs/1", "theirs")
    assert revision() == expected
    outcome = engine.compare_and_swap([Change("jobs/1", expected, b"mine")])
    assert outcome == Conflict({"jobs/1": engine.get("jobs/1")}) and member.get("jitc/jobs/1") == "theirs"


def test_a_watch_takes_nothing_from_another_cluster(
    tmp_path: Path,
    store: EtcdRig,
    engines: Engines,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """As one whose stream is opened when another one has taken the address over."""
    with etcd(tmp_path) as other:
        engine, states = engines.open(store.etcd.endpoints, other.endpoints), Seen[State]()
        monkeypatch.setattr(engine._calls, "current", lambda: engine._calls.links[1])
        engine.watch(store.prefix, states)
        said = Seen[str]()

        def has_been_said() -> bool:
            other.members[0].put(f"jitc/{store.prefix}a", "theirs")
            said(capfd.readouterr().err)
            return "another cluster answers there" in "".join(said.all)

        until(has_been_said, LIMIT, "it is said")
        assert all(not state.entries for state in states.all)


def test_another_cluster_at_the_same_address_is_not_used(own: Etcd, engines: Engines) -> None:
    engine, seen, states = engines.open(own.endpoints, lease_seconds=SHORT), Events(), Seen[State]()
    registration = engine.register("nodes/n0", b"here", seen)
    seen.next(Held)
    engine.watch("", states)
    states.until(lambda state: texts(state) == {"nodes/n0": "here"})
    count = len(states.all)
    own.wipe(other=True)
    own.members[0].put("jitc/nodes/n1", "theirs")
    assert "another cluster answers there" in seen.next(Lost).why
    for call in (lambda: engine.get("nodes/n1"), lambda: engine.list(""), lambda: engine.grant(5)):
        with pytest.raises(AnotherCluster, match=rf"{own.endpoints}: another cluster answers there.*--replace"):
            call()
    with pytest.raises(AnotherCluster):
        engine.compare_and_swap([Change("nodes/n1", 1, b"mine")])
    assert len(states.all) == count and not registration.holds
    assert own.members[0].get("jitc/nodes/n0") is None and own.members[0].get("jitc/nodes/n1") == "theirs"


def test_a_store_without_space_can_be_read_and_says_what_to_do(
    tmp_path: Path, one_etcd: Etcd, engines: Engines
) -> None:
    with etcd(tmp_path, options={"quota-backend-bytes": str(1 << 20)}) as full:
        engine, seen = engines.open(full.endpoints), Events()
        registration = engine.register("nodes/n0", b"here", seen)
        seen.next(Held)

        def fill() -> bool:
            number = len(engine.list("jobs/").entries)
            return not isinstance(engine.compare_and_swap([Change(f"jobs/{number}", 0, bytes(1 << 16))]), Swapped)

        with pytest.raises(Refused, match=r"no space left.*etcdctl alarm disarm"):
            until(fill, LIMIT, "it is full")
        with pytest.raises(Refused, match="no space left"):
            engine.grant(5)
        assert engine.get("jobs/0") and "NOSPACE" in engine.members()[0].trouble
        before = registration.valid_until
        until(lambda: registration.valid_until > before, LIMIT, "leases are renewed")
        entry = engine.get("jobs/0")
        assert entry and isinstance(engine.compare_and_swap([Change("jobs/0", entry.revision, None)]), Swapped)
        assert seen.all == [Held(2)] and value(engine.get("nodes/n0")) == b"here"


def test_a_lease_may_be_given_up_twice(store: EtcdRig) -> None:
    engine, other = store.node(), store.node()
    lease = engine.grant(SHORT)
    assert lease.seconds == SHORT and engine.renew(lease.name) == SHORT
    engine.revoke(lease.name)
    other.revoke(lease.name)
    assert engine.renew(lease.name) == 0
    assert isinstance(engine.compare_and_swap([Change(f"{store.prefix}a", 0, b"", lease.name)]), Unknown)
    assert engine.get(f"{store.prefix}a") is None


def test_entries_name_their_lease_as_registrations_do(store: EtcdRig) -> None:
    engine, key = store.node(), f"{store.prefix}a"
    lease = engine.grant(SHORT).name
    revision = put(engine, key, "leased", lease)
    assert engine.get(key) == Entry(b"leased", revision, lease)
