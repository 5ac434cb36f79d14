"""A node's number, its entry in the store, and those of the others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from toolkit.waiting import until

from jitc.proxy.cluster import keys
from jitc.proxy.cluster import nodes as module
from jitc.proxy.cluster.nodes import CannotJoin, NodeRecord, Nodes, claimed_number
from jitc.proxy.cluster.store.clock import BootClock
from jitc.proxy.cluster.store.engine import Change, StoreError, Unreachable
from jitc.proxy.cluster.store.engines.local import Dictionary, LocalEngine
from jitc.proxy.ranks.numbers import first_session, node_of

SECONDS = 20.0
RECORD = NodeRecord(1, "10.0.0.1:7431", "10.0.0.1:7432", "ab" * 32, {"protocol": 4})


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
    return claimed_number(engine, name, lambda text: None, lambda seconds: None)


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
    assert claimed_number(late, "n1", said.append, lambda seconds: None) == 1
    assert len(said) == 1 and "nothing answers at 10.0.0.9:2379" in said[0]
    late.close()


def test_a_store_that_never_answers_is_given_up(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BEGIN_SECONDS", 0.0)

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
    second.start(RECORD)
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
