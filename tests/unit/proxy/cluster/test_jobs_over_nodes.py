"""Jobs over nodes: one leader, epochs that no two leaders share, entries that cannot be read."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from meeting_rig import SECONDS, Rig, RigNode, nodes
from toolkit.waiting import until

from jitc.proxy.cluster.entries import JobEntry, Meeting, connecting, job_key, leaving, link_number, name_of
from jitc.proxy.cluster.keys import Malformed
from jitc.proxy.cluster.ranks.leadership import NotLeader
from jitc.proxy.cluster.store.engine import Change, Entry, Swapped
from jitc.proxy.ranks.numbers import first_session

A, B, C = (first_session(number) + 1 for number in (1, 2, 3))


def led(rig: Rig) -> tuple[RigNode, RigNode, list[int]]:
    """Returns the leader of a job of two nodes, the other node, and the job's sessions."""
    sessions = [node.session(1) for node in rig.nodes]
    for rank, node in enumerate(rig.nodes):
        node.join(b"w" * 128, 2, rank, sessions[rank])

    def leader() -> RigNode | None:
        known = [node for node in rig.nodes if node.jobs.over_nodes(sessions[0])]
        return next((node for node in known if node.jobs.leader_of(sessions[0]) == node.name), None)

    found = until(leader, SECONDS, "a node leads")
    other = next(node for node in rig.nodes if node is not found)
    until(lambda: other.jobs.leader_of(sessions[1]) == found.name, SECONDS, "the other one knows")
    return found, other, sessions


def test_epochs_grow_and_are_given_to_the_leader_alone() -> None:
    with nodes(2) as rig:
        leader, other, sessions = led(rig)
        assert [leader.jobs.next_epoch(sessions, least) for least in (0, 0, 7)] == [1, 2, 8]
        with pytest.raises(NotLeader):
            other.jobs.next_epoch(sessions, 0)
        assert JobEntry.decoded("", rig.store.state("jobs/").entries[rig.keys("jobs/")[0]]).epoch == 8


def test_epochs_of_threads_at_once_differ() -> None:
    with nodes(2) as rig, ThreadPoolExecutor(4) as pool:
        leader, _, sessions = led(rig)
        given = list(pool.map(lambda _: leader.jobs.next_epoch(sessions, 0), range(12)))
        assert sorted(given) == list(range(1, 13))


def test_the_next_leader_goes_on_behind_the_epochs_of_the_one_before() -> None:
    with nodes(2) as rig:
        leader, other, sessions = led(rig)
        assert leader.jobs.next_epoch(sessions, 3) == 4
        leader.registration.resign()
        until(lambda: other.jobs.leader_of(sessions[1]) == other.name, SECONDS, "the other one leads")
        with pytest.raises(NotLeader):
            leader.jobs.next_epoch(sessions, 0)
        assert other.jobs.next_epoch(sessions, 0) == 5


def test_epochs_grow_also_where_the_store_has_older_data_again() -> None:
    """As one that was restored from a backup."""
    with nodes(2) as rig:
        leader, other, sessions = led(rig)
        assert leader.jobs.next_epoch(sessions, 6) == 7
        [(key, entry)] = rig.store.state("jobs/").entries.items()
        for one in rig.nodes:
            until(lambda one=one: [each.epoch for each, _ in one.jobs.entries().values()] == [7], SECONDS, "all know")  # type: ignore[misc]
        rig.store.swap([Change(key, entry.revision, JobEntry(frozenset(sessions), 2).encoded())])
        assert leader.jobs.next_epoch(sessions, 0) == 8
        leader.registration.resign()
        until(lambda: other.jobs.leader_of(sessions[1]) == other.name, SECONDS, "the other one leads")
        assert other.jobs.next_epoch(sessions, 0) == 9


def test_a_session_of_another_node_alone_is_led_there() -> None:
    with nodes(2) as rig:
        first, _ = rig.nodes
        assert first.jobs.leader_of(B) == "n2" and first.jobs.node_of(C) == "n3"


def test_jobs_that_are_connected_keep_the_first_name_and_the_newest_epoch() -> None:
    jobs = {"1": (JobEntry(frozenset({A}), 4), 10), "2": (JobEntry(frozenset({B}), 9), 11)}
    kept, dropped = connecting(jobs, [A, B, C])
    assert (kept.key, kept.expected, JobEntry.decoded("", Entry(kept.value or b"", 0))) == (
        job_key("1"), 10, JobEntry(frozenset({A, B, C}), 9)
    )  # fmt: skip
    assert (dropped.key, dropped.expected, dropped.value) == (job_key("2"), 11, None)
    assert connecting({"1": (JobEntry(frozenset({A, B}), 4), 10)}, [A, B]) == []
    (new,) = connecting({}, [B, A])
    assert new.expected == 0 and new.key == job_key(f"{A:016x}")


def test_a_job_ends_with_its_last_but_one_session() -> None:
    one = JobEntry(frozenset({A, B, C}), 4)
    (change,) = leaving("1", one, 7, [C])
    assert JobEntry.decoded("", Entry(change.value or b"", 0)) == JobEntry(frozenset({A, B}), 4)
    assert leaving("1", one, 7, [C, B])[0].value is None and leaving("1", one, 7, []) == []


def test_a_seat_of_another_node_is_never_taken() -> None:
    entry = Meeting(2, {0: A}).with_own({0: B, 1: B}, {})
    assert entry.seats == {0: A, 1: B}


def test_an_entry_is_removed_when_all_its_nodes_have_released_it() -> None:
    entry = Meeting(2, {0: A, 1: B}, {})
    first = entry.without(1, {0: "it has ended"})
    assert first is not None and first.released == {1} and first.ends == {0: "it has ended"}
    assert first.without(2, {}) is None
    assert Meeting(2, {0: A}).without(1, {}) is not None, "a rank of another node may be about to come"


@pytest.mark.parametrize(
    "value",
    [
        b"{}", b"[" * 5000, b'{"ranks":0,"seats":{},"ends":{},"released":[]}',
        b'{"ranks":2,"seats":{"x":1},"ends":{},"released":[]}',
        b'{"ranks":2,"seats":{"0":"1"},"ends":{},"released":[]}', b'{"ranks":2,"seats":{},"ends":{},"released":[""]}',
        b'{"ranks":2,"seats":{"2":4294967297},"ends":{},"released":[]}',
        b'{"ranks":true,"seats":{},"ends":{},"released":[]}', b'{"ranks":2,"seats":{},"ends":{},"released":[0]}',
        b'{"ranks":2,"seats":{"0":7},"ends":{},"released":[]}',
        b'{"ranks":2,"seats":{"0":' + b"9" * 400 + b'},"ends":{},"released":[]}',
        b'{"ranks":' + b"9" * 5000 + b'}', b'{"ranks":2,"seats":{},"ends":{"0":["x"]},"released":[]}',
    ],
)  # fmt: skip
def test_an_entry_of_another_form_is_refused_with_its_key(value: bytes) -> None:
    with pytest.raises(Malformed, match="communicators/x in the store"):
        Meeting.decoded("communicators/x", Entry(value, 1))


@pytest.mark.parametrize(
    "value",
    [
        b"", b"{}", b"[1]", b'{"sessions":[4294967297],"epoch":-1}', b'{"sessions":[4294967297],"epoch":true}',
        b'{"sessions":[4294967297],"epoch":' + str(1 << 63).encode() + b"}", b'{"sessions":[1],"epoch":0}',
        b'{"sessions":["4294967297"],"epoch":0}', b'{"sessions":' + str([A] * 4097).encode() + b',"epoch":0}',
    ],
)  # fmt: skip
def test_a_job_of_another_form_is_refused_with_its_key(value: bytes) -> None:
    with pytest.raises(Malformed, match="jobs/x in the store"):
        JobEntry.decoded("jobs/x", Entry(value, 1))


def test_why_a_rank_has_ended_is_one_short_line_whatever_the_store_says() -> None:
    value = json.dumps({"ranks": 2, "seats": {"0": A}, "ends": {"0": "a\n" * (1 << 19)}, "released": []}).encode()
    why = Meeting.decoded("communicators/x", Entry(value, 1)).ends[0]
    assert len(why) < 500 and why.isprintable()


def test_a_leader_that_is_no_node_leads_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with nodes(2) as rig:
        leader, other, sessions = led(rig)
        [key] = rig.keys("leaders/")
        for garbage in (b"\xff", b"x" * 64, b""):
            entry = rig.store.entry(key)
            assert entry is not None
            assert isinstance(rig.store.swap([Change(key, entry.revision, garbage)]), Swapped)
            for one in rig.nodes:
                until(lambda one=one: one.jobs.leader_of(sessions[0]) is None, SECONDS, "nobody leads")  # type: ignore[misc]
        assert f"{key} in the store names no node; remove it" in capfd.readouterr().err
        entry = rig.store.entry(key)
        assert entry is not None
        rig.store.swap([Change(key, entry.revision, None)])
        names = {leader.name, other.name}
        until(lambda: other.jobs.leader_of(sessions[0]) in names, SECONDS, "one leads again")


def test_names_and_numbers_of_communicators() -> None:
    one, other = b"a" * 128, b"b" * 128
    assert name_of(one) != name_of(other) and one.hex() not in name_of(one)
    numbers = {link_number(unique_id, epoch) for unique_id in (one, other) for epoch in (0, 1, 2)}
    assert len(numbers) == 6 and all(0 < number < 1 << 64 for number in numbers)
