"""What every engine promises, one store after the other: in a dictionary, one that fails on purpose, etcd."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from engine_rig import LIMIT, Rig, Seen, put, read, remove, texts, value, write
from toolkit.waiting import patient, until

from jitc.proxy.cluster.store.engine import (
    CHANGES_MOST,
    ENTRIES_MOST,
    KEY_MOST,
    VALUE_MOST,
    VALUES_MOST,
    Change,
    Conflict,
    Engine,
    Entry,
    Held,
    Leading,
    Lost,
    NotLeading,
    Refused,
    Registration,
    State,
    Swapped,
    Taken,
    Unknown,
    Watch,
)


def registered(engine: Engine, key: str, text: str = "here") -> tuple[Registration, Seen[Held | Lost | Taken]]:
    seen = Seen[Held | Lost | Taken]()
    registration = engine.register(key, text.encode(), seen)
    seen.next(Held)
    return registration, seen


# ---- entries ------------------------------------------------------------------------------------
def test_a_key_from_its_first_value_to_its_end(rig: Rig) -> None:
    one, other, key = rig.node(), rig.node(), f"{rig.prefix}a"
    assert read(lambda: one.get(key)) is None
    first = write(one, Change(key, 0, b"first"))
    assert isinstance(first, Swapped)
    assert read(lambda: other.get(key)) == Entry(b"first", first.revision)
    second = write(other, Change(key, first.revision, b"second"))
    assert isinstance(second, Swapped) and second.revision > first.revision
    assert read(lambda: one.get(key)) == Entry(b"second", second.revision)
    assert isinstance(write(one, Change(key, second.revision, None)), Swapped)
    assert read(lambda: other.get(key)) is None


def test_a_conflict_changes_nothing_and_names_the_entries(rig: Rig) -> None:
    engine, there, free = rig.node(), f"{rig.prefix}there", f"{rig.prefix}free"
    revision = put(engine, there, "kept")
    for changes in (
        (Change(there, 0, b"new"),),
        (Change(there, revision + 1, b"new"),),
        (Change(there, revision + 1, None),),
        (Change(free, revision, b"new"),),
        (Change(free, 0, b"new"), Change(there, 0, b"new")),
    ):
        outcome = write(engine, *changes)
        assert outcome == Conflict({
            one.key: Entry(b"kept", revision) if one.key == there else None for one in changes
        }), changes  # fmt: skip
    assert texts(read(lambda: engine.list(rig.prefix)), rig.prefix) == {"there": "kept"}


def test_a_transaction_has_one_revision(rig: Rig) -> None:
    engine = rig.node()
    keys = [f"{rig.prefix}{number}" for number in range(CHANGES_MOST)]
    put(engine, keys[0], "old")
    entry = read(lambda: engine.get(keys[0]))
    assert entry
    outcome = write(engine, Change(keys[0], entry.revision, b"0"), *(Change(one, 0, one.encode()) for one in keys[1:]))
    assert isinstance(outcome, Swapped)
    state = read(lambda: engine.list(rig.prefix))
    assert {one.revision for one in state.entries.values()} == {outcome.revision}
    assert state.revision >= outcome.revision and set(state.entries) == set(keys)


def test_a_list_has_what_begins_with_the_prefix_and_nothing_else(rig: Rig) -> None:
    engine = rig.node()
    for key in ("jobs/1", "jobs/10", "jobs/ü", "jobt", "job", "nodes/n0"):
        put(engine, rig.prefix + key, key)
    assert set(texts(read(lambda: engine.list(f"{rig.prefix}jobs/")), rig.prefix)) == {"jobs/1", "jobs/10", "jobs/ü"}
    assert set(texts(read(lambda: engine.list(f"{rig.prefix}jobs/1")), rig.prefix)) == {"jobs/1", "jobs/10"}
    assert texts(read(lambda: engine.list(f"{rig.prefix}none/"))) == {}


def test_what_is_too_large_is_refused_and_what_is_just_not_is_kept(rig: Rig) -> None:
    engine, key = rig.node(), f"{rig.prefix}a"
    long = rig.prefix + "k" * (KEY_MOST - len(rig.prefix))
    half = bytes(VALUES_MOST // CHANGES_MOST)
    many = [Change(f"{rig.prefix}{number}", 0, half) for number in range(CHANGES_MOST)]
    for wrong in (
        [Change(key, 0, bytes(VALUE_MOST + 1))],
        [Change(long + "k", 0, b"")],
        [Change("", 0, b"")],
        [Change("a\nb", 0, b"")],
        [Change(key, 0, b""), Change(key, 0, b"")],
        [],
        [*many, Change(key, 0, b"")],
        [*many[:-1], Change(key, 0, half + b"1")],
    ):
        with pytest.raises(ValueError, match=r"key|value|transaction"):
            engine.compare_and_swap(wrong)
    assert read(lambda: engine.list(rig.prefix)).entries == {}
    assert isinstance(write(engine, Change(long, 0, bytes(VALUE_MOST))), Swapped)
    assert isinstance(write(engine, *many), Swapped)


def test_more_entries_than_a_list_may_have_are_refused(rig: Rig) -> None:
    engine = rig.node()
    for first in range(0, ENTRIES_MOST, CHANGES_MOST):
        write(engine, *(Change(f"{rig.prefix}{number}", 0, b"") for number in range(first, first + CHANGES_MOST)))
    assert len(read(lambda: engine.list(rig.prefix)).entries) == ENTRIES_MOST
    put(engine, f"{rig.prefix}one more", "")
    with pytest.raises(Refused, match="more than 4,096 entries"):
        read(lambda: engine.list(rig.prefix))


def test_of_writers_at_the_same_time_no_write_is_lost(rig: Rig) -> None:
    """Each appends its marks to one value. A caller that does not know whether it has, looks."""
    key, writers, marks = f"{rig.prefix}marks", 4, 12

    def append(engine: Engine, mark: str) -> None:
        while True:
            entry = read(lambda: engine.get(key))
            found = json.loads(entry.value) if entry else []
            if mark in found:
                return
            change = Change(key, entry.revision if entry else 0, json.dumps([*found, mark]).encode())
            if isinstance(engine.compare_and_swap([change]), Swapped):
                return

    def work(number: int) -> None:
        engine = rig.node()
        for mark in range(marks):
            append(engine, f"{number}.{mark}")

    with ThreadPoolExecutor(writers) as pool:
        for done in [pool.submit(work, number) for number in range(writers)]:
            done.result()
    found = json.loads(value(read(lambda: rig.engines[0].get(key))) or b"[]")
    assert sorted(found) == sorted(f"{one}.{mark}" for one in range(writers) for mark in range(marks))


# ---- watches ------------------------------------------------------------------------------------
def test_a_watch_gives_all_and_then_the_changes(rig: Rig) -> None:
    one, other, prefix = rig.node(), rig.node(), f"{rig.prefix}jobs/"
    put(one, f"{prefix}1", "before")
    put(one, f"{rig.prefix}nodes/n0", "beside")
    seen = Seen[State]()
    watch = other.watch(prefix, seen)
    seen.until(lambda state: texts(state, prefix) == {"1": "before"})
    put(one, f"{prefix}2", "new")
    seen.until(lambda state: texts(state, prefix) == {"1": "before", "2": "new"})
    put(one, f"{prefix}1", "after")
    seen.until(lambda state: texts(state, prefix) == {"1": "after", "2": "new"})
    remove(one, f"{prefix}2")
    last = seen.until(lambda state: texts(state, prefix) == {"1": "after"})
    assert last.entries == read(lambda: one.list(prefix)).entries
    revisions = [state.revision for state in seen.all]
    assert revisions == sorted(revisions)
    watch.close()
    count = len(seen.all)
    put(one, f"{prefix}3", "unseen")
    after = Seen[State]()
    other.watch(prefix, after)
    after.until(lambda state: "3" in texts(state, prefix))
    assert len(seen.all) == count


def test_a_watch_of_a_prefix_without_entries_says_so(rig: Rig) -> None:
    seen = Seen[State]()
    rig.node().watch(f"{rig.prefix}none/", seen)
    assert seen.next(State).entries == {}


def test_what_is_changed_together_is_seen_together(rig: Rig) -> None:
    engine, keys = rig.node(), (f"{rig.prefix}left", f"{rig.prefix}right")
    seen = Seen[State]()
    rig.node().watch(rig.prefix, seen)
    revisions = dict.fromkeys(keys, 0)
    for number in range(30):
        outcome = write(engine, *(Change(key, revisions[key], str(number).encode()) for key in keys))
        assert isinstance(outcome, Swapped)
        revisions = dict.fromkeys(keys, outcome.revision)
    seen.until(lambda state: set(texts(state).values()) == {"29"})
    for state in seen.all:
        assert len({one.value for one in state.entries.values()}) <= 1, state


def test_an_error_in_the_function_of_a_watch_does_not_end_it(rig: Rig, capfd: pytest.CaptureFixture[str]) -> None:
    engine, seen = rig.node(), Seen[State]()

    def changed(state: State) -> None:
        seen(state)
        if len(seen.all) == 1:
            raise RuntimeError("made by the test")

    rig.node().watch(rig.prefix, changed)
    seen.next(State)
    put(engine, f"{rig.prefix}a", "after")
    seen.until(lambda state: texts(state, rig.prefix) == {"a": "after"})
    assert "made by the test" in capfd.readouterr().err


def test_a_watch_may_be_closed_by_its_function(rig: Rig) -> None:
    engine, seen = rig.node(), Seen[State]()
    put(engine, f"{rig.prefix}a", "1")
    watches: list[Watch] = []
    known, closed = threading.Event(), threading.Event()

    def changed(state: State) -> None:
        seen(state)
        assert known.wait(LIMIT)
        watches[0].close()
        closed.set()

    watches.append(rig.node().watch(rig.prefix, changed))
    known.set()
    assert closed.wait(patient(LIMIT))
    put(engine, f"{rig.prefix}a", "2")
    assert len(seen.all) == 1


# ---- registrations ------------------------------------------------------------------------------
def test_a_registration_is_seen_until_it_is_resigned(rig: Rig) -> None:
    one, other, key = rig.node(), rig.node(), f"{rig.prefix}nodes/n0"
    registration, seen = registered(one, key)
    assert registration.holds and registration.valid_until > one.clock.now()
    entry = read(lambda: other.get(key))
    assert entry == Entry(b"here", seen.all[-1].revision, registration.lease)  # type: ignore[union-attr]
    states = Seen[State]()
    other.watch(rig.prefix, states)
    states.until(lambda state: key in state.entries)
    registration.resign()
    assert not registration.holds and registration.lease == ""
    if read(lambda: other.get(key)):  # the store has not answered: it waits for the lease
        rig.let_run_out()
    states.until(lambda state: key not in state.entries)
    assert [type(event) for event in seen.all] == [Held]


def test_an_entry_with_the_lease_of_a_registration_ends_with_it(rig: Rig) -> None:
    one, other = rig.node(), rig.node()
    registration, _ = registered(one, f"{rig.prefix}nodes/n0")
    put(one, f"{rig.prefix}jobs/1", "leased", registration.lease)
    put(one, f"{rig.prefix}jobs/2", "kept")
    states = Seen[State]()
    other.watch(rig.prefix, states)
    states.until(lambda state: len(state.entries) == 3)
    read(lambda: other.revoke(registration.lease))
    states.until(lambda state: "jobs/1" not in texts(state, rig.prefix))
    assert read(lambda: other.get(f"{rig.prefix}jobs/2"))


def test_no_entry_is_written_with_a_lease_that_is_over(rig: Rig) -> None:
    engine, key = rig.node(), f"{rig.prefix}jobs/1"
    registration, _ = registered(engine, f"{rig.prefix}nodes/n0")
    lease = registration.lease
    registration.resign()
    rig.let_run_out()
    for one in (lease, registration.lease):
        assert isinstance(engine.compare_and_swap([Change(key, 0, b"late", one)]), Unknown)
    assert read(lambda: engine.get(key)) is None


def test_a_registration_that_the_store_has_forgotten_comes_again(rig: Rig) -> None:
    one, other, key = rig.node(), rig.node(), f"{rig.prefix}nodes/n0"
    registration, seen = registered(one, key)
    first, lease = seen.all[-1], registration.lease
    read(lambda: other.revoke(lease))
    rig.let_renew()
    again = seen.next(Held, after=len(seen.all))
    assert [type(event) for event in seen.all] == [Held, Lost, Held]
    assert "forgotten" in seen.all[1].why  # type: ignore[union-attr]
    assert again != first and registration.lease != lease and registration.holds
    entry = read(lambda: other.get(key))
    assert entry == Entry(b"here", again.revision, registration.lease)


def test_a_key_that_another_one_has_is_taken_when_that_one_has_ended(rig: Rig) -> None:
    first, second, key = rig.node(), rig.node(), f"{rig.prefix}nodes/n0"
    registration, _ = registered(first, key, "first")
    seen = Seen[Held | Lost | Taken]()
    waiting = second.register(key, b"second", seen)
    assert seen.next(Taken).by == read(lambda: second.get(key))
    assert not waiting.holds and value(read(lambda: second.get(key))) == b"first"
    read(lambda: first.revoke(registration.lease))
    registration.resign()
    rig.let_renew()
    seen.next(Held)
    assert waiting.holds and value(read(lambda: first.get(key))) == b"second"
    assert [type(event) for event in seen.all] == [Taken, Held]


def test_a_node_that_has_ended_is_seen_no_more_when_its_lease_has_run_out(rig: Rig) -> None:
    lost, other, key = rig.node(short=True), rig.node(), f"{rig.prefix}nodes/n0"
    registered(lost, key)
    lost.close()
    states = Seen[State]()
    other.watch(rig.prefix, states)
    states.until(lambda state: key in state.entries)
    rig.let_run_out()
    states.until(lambda state: key not in state.entries)


def test_the_next_service_of_a_node_goes_on_with_the_lease(rig: Rig) -> None:
    before, key = rig.node(), f"{rig.prefix}nodes/n0"
    registration, seen = registered(before, key)
    lease, revision = registration.lease, seen.next(Held).revision
    before.close()
    after = Seen[Held | Lost | Taken]()
    later = rig.node().register(key, b"here", after, lease)
    assert after.next(Held) == Held(revision) and later.lease == lease and later.holds


def test_the_next_service_of_a_node_writes_what_has_changed(rig: Rig) -> None:
    before, key = rig.node(), f"{rig.prefix}nodes/n0"
    registration, _ = registered(before, key)
    lease = registration.lease
    before.close()
    after, engine = Seen[Held | Lost | Taken](), rig.node()
    engine.register(key, b"moved", after, lease)
    held = after.next(Held)
    assert read(lambda: engine.get(key)) == Entry(b"moved", held.revision, lease)


def test_a_registration_takes_another_value(rig: Rig) -> None:
    one, other, key = rig.node(), rig.node(), f"{rig.prefix}nodes/n0"
    registration, seen = registered(one, key)
    lease, states = registration.lease, Seen[State]()
    other.watch(rig.prefix, states)
    registration.update(b"moved")
    found = states.until(lambda state: key in state.entries and state.entries[key].value == b"moved")
    assert found.entries[key].lease == lease == registration.lease and registration.holds
    assert [type(event) for event in seen.all] == [Held]
    registration.resign()


def test_a_lease_of_another_store_is_none(rig: Rig) -> None:
    seen = Seen[Held | Lost | Taken]()
    registration = rig.node().register(f"{rig.prefix}nodes/n0", b"here", seen, "zz no lease")
    seen.next(Held)
    assert registration.holds and registration.lease != "zz no lease"


# ---- campaigns ----------------------------------------------------------------------------------
def test_one_leads_and_another_one_follows_when_it_resigns(rig: Rig) -> None:
    key = f"{rig.prefix}jobs/1/leader"
    nodes = [rig.node() for _ in range(3)]
    reports = [Seen[Leading | NotLeading]() for _ in nodes]
    registrations = [registered(one, f"{rig.prefix}nodes/n{number}")[0] for number, one in enumerate(nodes)]
    campaigns = [
        one.lead(key, f"n{number}".encode(), registrations[number], reports[number]) for number, one in enumerate(nodes)
    ]
    order = []
    while campaigns:
        leader = until(
            lambda: next((one for one in range(len(nodes)) if one not in order and campaigns[one].leads), None),
            LIMIT,
            "one leads",
        )
        assert [one for one, each in enumerate(campaigns) if each.leads] == [leader]
        assert value(read(lambda: nodes[0].get(key))) == f"n{leader}".encode()
        order.append(leader)
        campaigns[leader].resign()
        assert not campaigns[leader].leads
        if len(order) == len(nodes):
            break
    assert sorted(order) == [0, 1, 2]
    assert [[type(event) for event in one.all] for one in reports] == [[Leading]] * 3
    until(lambda: read(lambda: nodes[0].get(key)) is None or None, LIMIT, "the last one has removed its key")


def test_who_loses_its_lease_leads_no_more(rig: Rig) -> None:
    key = f"{rig.prefix}jobs/1/leader"
    one, other = rig.node(), rig.node()
    mine, _ = registered(one, f"{rig.prefix}nodes/n0")
    seen = Seen[Leading | NotLeading]()
    campaign = one.lead(key, b"n0", mine, seen)
    revision = seen.next(Leading).revision
    assert campaign.leads and read(lambda: other.get(key)) == Entry(b"n0", revision, mine.lease)
    read(lambda: other.revoke(mine.lease))
    rig.let_renew()
    seen.next(NotLeading)
    again = seen.next(Leading, after=2)
    assert campaign.leads and again.revision > revision


def test_the_next_service_of_a_leader_goes_on_leading(rig: Rig) -> None:
    before, key = rig.node(), f"{rig.prefix}jobs/1/leader"
    registration, _ = registered(before, f"{rig.prefix}nodes/n0")
    seen = Seen[Leading | NotLeading]()
    before.lead(key, b"n0", registration, seen)
    revision, lease = seen.next(Leading).revision, registration.lease
    before.close()
    engine, held, leading = rig.node(), Seen[Held | Lost | Taken](), Seen[Leading | NotLeading]()
    later = engine.register(f"{rig.prefix}nodes/n0", b"here", held, lease)
    engine.lead(key, b"n0", later, leading)
    assert leading.next(Leading) == Leading(revision)


def test_a_closed_engine_takes_nothing(rig: Rig) -> None:
    engine = rig.node()
    engine.close()
    engine.close()
    with pytest.raises(ValueError, match="closed"):
        engine.register(f"{rig.prefix}nodes/n0", b"", Seen[Held | Lost | Taken]())
    with pytest.raises(ValueError, match="closed"):
        engine.watch(rig.prefix, Seen[State]())
