"""A node's number, its entry in the store, and those of the others."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from threading import Thread
from typing import Any

import pytest
from toolkit.waiting import until

from jitc.proxy.cluster import keys, numbers
from jitc.proxy.cluster import nodes as module
from jitc.proxy.cluster.entries import JobEntry, Meeting, communicator_key, job_key
from jitc.proxy.cluster.nodes import CannotJoin, NodeRecord, Nodes
from jitc.proxy.cluster.numbers import Numbers, claimed_numbers
from jitc.proxy.cluster.store.clock import BootClock
from jitc.proxy.cluster.store.engine import Change, Entry, StoreError, Unreachable
from jitc.proxy.cluster.store.engines.local import Dictionary, LocalEngine
from jitc.proxy.ranks.numbers import first_session, node_of

SECONDS = 20.0
SESSION = first_session(1) + 1
RECORD = NodeRecord(1, "10.0.0.1:7431", "10.0.0.1:7432", "ab" * 32, {"protocol": 4})
SECOND = NodeRecord(2, "10.0.0.2:7431", "10.0.0.2:7432", "cd" * 32)


@pytest.fixture
def store() -> Dictionary:
    return Dictionary(BootClock())


@pytest.fixture
def engine(store: Dictionary) -> Iterator[Any]:
    """Returns a function that makes engines over one store."""
    with ExitStack() as ends:

        def make() -> LocalEngine:
            made = LocalEngine(store)
            ends.callback(made.close)
            return made

        yield make


def claim(engine: LocalEngine, name: str) -> int:
    return claim_all(engine, name).own


def claim_all(engine: LocalEngine, name: str) -> Numbers:
    return claimed_numbers(engine, name, lambda text: None, lambda seconds: None)


def test_a_node_keeps_its_number_and_no_two_have_one(engine: Any) -> None:
    first, second = engine(), engine()
    assert [claim(first, "n1"), claim(second, "n2"), claim(first, "n1"), claim(second, "n1")] == [1, 2, 1, 1]
    assert node_of(first_session(7) + 3) == 7


def test_a_store_that_does_not_answer_is_waited_for(engine: Any) -> None:
    one, said = engine(), []
    answers = iter([Unreachable("nothing answers at 10.0.0.9:2379"), None])

    class Late(LocalEngine):
        def get(self, key: str) -> Any:
            if (trouble := next(answers, None)) is not None:
                raise trouble
            return one.get(key)

    late = Late(one._store)
    assert claimed_numbers(late, "n1", said.append, lambda seconds: None) == (1, ())
    assert len(said) == 1 and "nothing answers at 10.0.0.9:2379" in said[0]
    late.close()


def test_a_store_that_never_answers_is_given_up(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "BEGIN_SECONDS", 0.0)

    class Dead(LocalEngine):
        def get(self, key: str) -> Any:
            raise Unreachable("nothing answers at 10.0.0.9:2379")

    dead = Dead(engine()._store)
    with pytest.raises(CannotJoin, match=r"nothing answers at 10\.0\.0\.9:2379"):
        claim(dead, "n1")
    dead.close()


@pytest.mark.parametrize("value", [b"", b"x", b"-1", b"9" * 40, b"1.5", "\u0661".encode()])
def test_a_number_that_is_none_is_refused(engine: Any, value: bytes) -> None:
    one = engine()
    one.compare_and_swap([Change(f"{keys.NUMBERS}n1", 0, value)])
    with pytest.raises(CannotJoin, match="numbers/n1 in the store is no number"):
        claim(one, "n1")


def test_the_number_of_a_node_that_is_there_is_given_to_no_other_one(engine: Any) -> None:
    """Where the store has lost who has which, and the node has not come again to say so."""
    one = engine()
    one.compare_and_swap([Change(f"{keys.NODES}n7", 0, replace(RECORD, number=1).encoded())])
    one.compare_and_swap([Change(f"{keys.NODES}n8", 0, b"none")])
    assert [claim(one, "n2"), claim(one, "n7"), claim(one, "n2")] == [2, 3, 2]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (job_key("1"), JobEntry(frozenset({SESSION, first_session(9) + 1})).encoded()),
        (communicator_key("c"), Meeting(2, {0: SESSION}).encoded()),
    ],
)
def test_a_node_whose_sessions_have_ended_without_a_word_gets_another_number(
    engine: Any, key: str, value: bytes
) -> None:
    """Its next sessions are never taken for those, of which others know."""
    one = engine()
    assert claim(one, "n1") == node_of(SESSION)
    one.compare_and_swap([Change(key, 0, value)])
    assert claim_all(one, "n1") == (2, (1,))
    one.compare_and_swap([Change(key, one.get(key).revision, None)])
    assert claim_all(one, "n1") == (2, (1,))


def test_a_node_that_is_there_keeps_its_number_whoever_comes_with_its_name(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sessions are none that have ended."""
    monkeypatch.setattr(numbers, "BEGIN_SECONDS", 0.0)
    one = engine()
    assert claim(one, "n1") == 1
    one.compare_and_swap([Change(job_key("1"), 0, JobEntry(frozenset({SESSION, first_session(9) + 1})).encoded())])
    one.compare_and_swap([Change(f"{keys.NODES}n1", 0, RECORD.encoded())])
    with pytest.raises(CannotJoin, match=f"the cluster has a node n1 already, at {RECORD.peer}; end that service"):
        claim(one, "n1")
    assert one.get(f"{keys.NUMBERS}n1").value == b"1"
    one.compare_and_swap([Change(f"{keys.NODES}n1", one.get(f"{keys.NODES}n1").revision, None)])
    assert claim_all(one, "n1") == (2, (1,))


def test_former_numbers_are_the_node_s_own_and_the_newest(engine: Any) -> None:
    one = engine()
    for number in range(1, numbers.FORMER_MOST + 4):
        assert claim(one, "n1") == number
        one.compare_and_swap(
            [Change(job_key(str(number)), 0, JobEntry(frozenset({first_session(number) + 1})).encoded())]
        )
    own, former = claim_all(one, "n1")
    assert (own, former) == (20, tuple(range(4, 20)))
    one.compare_and_swap([Change(f"{keys.NUMBERS}n2", 0, b"20")])  # as after the store was wiped
    one.compare_and_swap([Change(f"{keys.NODES}n2", 0, replace(RECORD, number=20).encoded())])
    assert claim_all(one, "n1") == (21, former), "what another node has is no former one"


@pytest.mark.parametrize("value", [b"x", b"{}", b'{"numbers":[0]}', b'{"numbers":["1"]}', b'{"numbers":7}'])
def test_former_numbers_of_another_form_are_refused(engine: Any, value: bytes) -> None:
    one = engine()
    one.compare_and_swap([Change(f"{keys.FORMER}n1", 0, value)])
    with pytest.raises(CannotJoin, match="former/n1 in the store is not what jitc writes there"):
        claim(one, "n1")


def test_a_node_that_has_another_number_is_known_by_both(engine: Any) -> None:
    first, second = Nodes(engine(), "n1", lambda: None), Nodes(engine(), "n2", lambda: None)
    first.start(RECORD)
    for number in (2, 3):
        second.start(replace(SECOND, number=number))
        until(lambda number=number: first.name_of(number) == "n2", SECONDS, "n1 sees n2")  # type: ignore[misc]
        second.stop()
        second = Nodes(engine(), "n2", lambda: None)
    assert first.name_of(2) == "n2" and first.name_of(4) == "number 4"
    first.stop()


def test_two_nodes_of_one_number_have_nothing_to_do_with_each_other(
    engine: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, third = (Nodes(engine(), name, lambda: None) for name in ("n1", "n2", "n3"))
    first.start(RECORD)
    second.start(replace(SECOND, number=1))
    third.start(replace(SECOND, number=3))
    until(lambda: "n3" in first.others() and "n3" in second.others(), SECONDS, "they see the third one")
    assert set(first.others()) == set(second.others()) == {"n3"}
    said = capsys.readouterr().err
    assert "node n2 has the number of this one, 1" in said and "node n1 has the number of this one, 1" in said
    for one in (first, second, third):
        one.stop()


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("a b", {}), ("n" * 64, {}), ("n3", {"peer": "x" * 301}), ("n3", {"bridge": "h:1\n"}), ("n3", {"number": True}),
        ("n3", {"number": 1 << 20}), ("n3", {"versions": []}), ("n3", {"certificate": None}),
        ("n3", {"peer": "x" * (1 << 20)}),
    ],
)  # fmt: skip
def test_a_record_that_is_none(key: str, changes: dict[str, Any]) -> None:
    """However large it is, what is said of it is short."""
    value = json.dumps(json.loads(SECOND.encoded()) | changes).encode()
    with pytest.raises(keys.Malformed) as error:
        NodeRecord.decoded(f"{keys.NODES}{key}", Entry(value, 1))
    assert len(str(error.value)) < 200


def test_a_name_that_comes_back_on_another_machine(engine: Any, store: Dictionary) -> None:
    """While its old lease is still there: it is waited for until that is over."""
    dead, second = engine(), Nodes(engine(), "n1", lambda: None)
    old = Nodes(dead, "n1", lambda: None)
    old.start(RECORD)
    dead.close()  # its machine is gone, and says nothing
    began = Thread(target=second.start, args=(SECOND,))
    began.start()
    until(lambda: second._taken, SECONDS, "it finds the name taken")
    assert not second.registered and began.is_alive()
    store.revoke(store.state(keys.NODES).entries[f"{keys.NODES}n1"].lease)
    began.join(SECONDS)
    assert second.registered and store.state(keys.NODES).entries[f"{keys.NODES}n1"].value == SECOND.encoded()
    second.stop()


def test_nodes_see_each_other_come_and_go(engine: Any) -> None:
    changed = threading.Event()
    first, second = Nodes(engine(), "n1", changed.set), Nodes(engine(), "n2", lambda: None)
    first.start(RECORD)
    assert first.registered and not first.others()
    changed.clear()
    other = NodeRecord(2, "10.0.0.2:7431", "10.0.0.2:7432", "cd" * 32)
    second.start(other)
    until(lambda: first.others() == {"n2": other}, SECONDS, "n1 sees n2")
    assert changed.wait(SECONDS) and first.certificate_of("n2") == other.certificate
    assert first.certificate_of("n3") is None
    second.stop()
    until(lambda: not first.others(), SECONDS, "n2 has gone")
    first.stop()


def test_a_name_is_served_once(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Nodes(engine(), "n1", lambda: None), Nodes(engine(), "n1", lambda: None)
    first.start(RECORD)
    monkeypatch.setattr(module, "BEGIN_SECONDS", 1.0)
    with pytest.raises(CannotJoin, match=r"a node n1 already, at 10\.0\.0\.1:7431; .* another name with --node"):
        second.start(RECORD)
    first.stop()


def test_the_next_service_goes_on_with_the_lease(engine: Any, store: Dictionary) -> None:
    first, second = Nodes(engine(), "n1", lambda: None), Nodes(engine(), "n1", lambda: None)
    first.start(RECORD)
    before, lease = store.state(keys.NODES).entries, first.registration.lease
    first.leave()
    second.start(RECORD, lease)
    assert second.registration.lease == lease and store.state(keys.NODES).entries == before
    second.stop()
    assert not store.state(keys.NODES).entries


def test_an_entry_that_cannot_be_read_concerns_its_node_alone(engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    one = engine()
    one.compare_and_swap([Change(f"{keys.NODES}odd", 0, b'{"number":0}')])
    first, second = Nodes(one, "n1", lambda: None), Nodes(engine(), "n2", lambda: None)
    first.start(RECORD)
    second.start(SECOND)
    until(lambda: "n2" in first.others(), SECONDS, "n1 sees n2")
    assert "odd" not in first.others()
    assert capsys.readouterr().err.count("nodes/odd in the store does not describe a node") == 2
    first.stop()
    second.stop()


def test_a_renewed_certificate_is_in_the_store_when_that_returns(engine: Any, store: Dictionary) -> None:
    first, second = Nodes(engine(), "n1", lambda: None), Nodes(engine(), "n2", lambda: None)
    first.start(RECORD)
    second.start(NodeRecord(2, "10.0.0.2:7431", "10.0.0.2:7432", "cd" * 32))
    until(lambda: second.certificate_of("n1"), SECONDS, "n2 sees n1")
    lease = first.registration.lease
    first.renew("ef" * 32)
    entry = store.state(keys.NODES).entries[f"{keys.NODES}n1"]
    assert entry.value == replace(RECORD, certificate="ef" * 32).encoded() and entry.lease == lease
    until(lambda: second.certificate_of("n1") == "ef" * 32, SECONDS, "n2 sees it")
    first.renew("ef" * 32)
    first.stop()
    second.stop()


def test_a_renewed_certificate_that_the_store_does_not_take_is_an_error_until_it_does(
    engine: Any, store: Dictionary, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, away = engine(), threading.Event()
    plain = one.compare_and_swap

    def swap(changes: Any) -> Any:
        if away.is_set():
            raise Unreachable("nothing answers at 10.0.0.9:2379")
        return plain(changes)

    monkeypatch.setattr(one, "compare_and_swap", swap)
    nodes = Nodes(one, "n1", lambda: None)
    nodes.start(RECORD)
    away.set()
    monkeypatch.setattr(module, "RENEW_SECONDS", 0.05)
    with pytest.raises(StoreError, match="certificate of node n1 has been renewed"):
        nodes.renew("ef" * 32)
    away.clear()
    monkeypatch.setattr(module, "RENEW_SECONDS", SECONDS)
    nodes.renew("ef" * 32)
    assert b"ef" * 32 in store.state(keys.NODES).entries[f"{keys.NODES}n1"].value
    nodes.stop()
