"""Ranks of a communicator find each other over nodes, become one job, and are linked only then."""

from __future__ import annotations

import pytest
from meeting_rig import SECONDS, RigNode, nodes
from toolkit.waiting import until

from jitc.proxy.cluster import keys, meetings
from jitc.proxy.cluster.store.engines.local import LocalEngine

WORLD = b"w" * 128


def test_ranks_of_two_nodes_become_one_job_and_are_linked() -> None:
    with nodes(2) as rig:
        first, second = rig.nodes
        one, other = first.session(1), second.session(1)
        first.join(WORLD, 2, 0, one)
        rig.wait_keys(keys.COMMUNICATORS, 1)
        assert not first.links, "a rank has not come"
        second.join(WORLD, 2, 1, other)
        for node in rig.nodes:
            linked = node.wait_linked(WORLD)
            assert linked.seats == {0: one, 1: other}
            assert node.jobs.connected([one]) == {one, other}, "linked before the job was known"
        assert first.here.known[WORLD].elsewhere == {1} and second.here.known[WORLD].elsewhere == {0}


def test_both_nodes_know_one_leader() -> None:
    with nodes(2) as rig:
        first, second = rig.nodes
        one, other = first.session(1), second.session(1)
        first.join(WORLD, 2, 0, one)
        second.join(WORLD, 2, 1, other)

        def agreed() -> str | None:
            said = {node.jobs.leader_of(session) for node in rig.nodes for session in (one, other)}
            return said.pop() if len(said) == 1 else None

        assert until(agreed, SECONDS, "one leader") in ("n1", "n2")


def test_a_job_of_one_node_is_led_there_and_is_not_in_the_store() -> None:
    with nodes(2) as rig:
        first, _ = rig.nodes
        sessions = [first.session(1), first.session(2)]
        first.join(WORLD, 2, 0, sessions[0])
        first.join(WORLD, 2, 1, sessions[1])
        rig.wait_keys(keys.COMMUNICATORS, 0)
        assert first.jobs.leader_of(sessions[0]) == "n1" and not first.jobs.over_nodes(sessions[0])
        assert not rig.keys(keys.JOBS) and not first.links


def test_sessions_that_only_this_node_connects_belong_to_the_job_too() -> None:
    with nodes(2) as rig:
        first, second = rig.nodes
        ends, middle = (first.session(1), second.session(1)), first.session(2)
        first.join(b"l" * 128, 2, 0, middle)
        first.join(b"l" * 128, 2, 1, ends[0])
        first.join(WORLD, 2, 0, ends[0])
        second.join(WORLD, 2, 1, ends[1])
        until(lambda: second.jobs.connected([ends[1]]) == {*ends, middle}, SECONDS, "n2 knows of all three")


def test_two_jobs_that_a_communicator_connects_become_one() -> None:
    with nodes(2) as rig:
        first, second = rig.nodes
        pairs = [(first.session(count), second.session(count)) for count in (1, 2)]
        for number, pair in enumerate(pairs):
            for rank, node in enumerate(rig.nodes):
                node.join(bytes([number]) * 128, 2, rank, pair[rank])
        rig.wait_keys(keys.JOBS, 2)
        first.join(WORLD, 2, 0, pairs[0][0])
        second.join(WORLD, 2, 1, pairs[1][1])
        rig.wait_keys(keys.JOBS, 1)
        every = {session for pair in pairs for session in pair}
        for node in rig.nodes:
            until(lambda node=node: node.jobs.connected(pairs[0][:1]) == every, SECONDS, "all know of all")

        def leader() -> str | None:
            said = {node.jobs.leader_of(one) for node in rig.nodes for one in every}
            return said.pop() if len(said) == 1 else None

        assert until(leader, SECONDS, "one leader") in ("n1", "n2")


def test_a_job_of_more_ranks_than_there_are_slots_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meetings, "ELSEWHERE_MOST", 1)
    with nodes(3) as rig:
        for rank, node in enumerate(rig.nodes):
            node.join(WORLD, 3, rank, node.session(1))
        for node in rig.nodes:
            why = until(lambda node=node: node.here.refused.get(WORLD), SECONDS, f"{node.name} refuses it")
            assert why.startswith("a job may have at most 1 ranks") and why.endswith("and this one would have 2")
            assert not node.links and not rig.keys(keys.JOBS)


def test_an_entry_goes_when_all_nodes_have_released_it_and_the_job_stays() -> None:
    with nodes(2) as rig:
        first, second = rig.nodes
        sessions = first.session(1), second.session(1)
        first.join(WORLD, 2, 0, sessions[0])
        second.join(WORLD, 2, 1, sessions[1])
        for node in rig.nodes:
            node.wait_linked(WORLD)
        first.release(WORLD)
        until(lambda: not first.links, SECONDS, "it is not linked any more")
        assert rig.keys(keys.COMMUNICATORS), "the other node has not released it"
        second.release(WORLD)
        rig.wait_keys(keys.COMMUNICATORS, 0)
        assert first.jobs.connected(sessions[:1]) == set(sessions), "they stay connected until they end"


def test_a_session_that_ends_leaves_its_job_and_the_others_learn_why() -> None:
    with nodes(2) as rig:
        first, second = rig.nodes
        sessions = first.session(1), second.session(1)
        first.join(WORLD, 2, 0, sessions[0])
        second.join(WORLD, 2, 1, sessions[1])
        for node in rig.nodes:
            node.wait_linked(WORLD)
        second.end(sessions[1], "rank 1 has ended")
        until(lambda: first.here.known[WORLD].ends == {1: "rank 1 has ended"}, SECONDS, "n1 knows why")
        rig.wait_keys(keys.JOBS, 0)
        rig.wait_keys(keys.LEADERS, 0)
        first.end(sessions[0], "the last one")
        rig.wait_keys(keys.COMMUNICATORS, 0)


def test_sessions_that_a_node_had_before_it_began_anew_have_ended() -> None:
    with nodes(2) as rig:
        first, second = rig.nodes
        sessions = first.session(1), second.session(1)
        for number in range(2):
            first.join(bytes([number]) * 128, 2, 0, sessions[0])
            second.join(bytes([number]) * 128, 2, 1, sessions[1])
        for node in rig.nodes:
            node.wait_linked(b"\1" * 128)
        second.close()
        again = RigNode(LocalEngine(rig.store), 3, former=(2,))
        expected = {1: meetings.BEGAN_ANEW}
        try:
            for number in range(2):
                one = bytes([number]) * 128
                until(lambda one=one: first.here.known[one].ends == expected, SECONDS, "n1 knows that they have ended")
            rig.wait_keys(keys.JOBS, 0)
            first.end(sessions[0], "the last one")
            rig.wait_keys(keys.COMMUNICATORS, 0)
        finally:
            again.close()


@pytest.mark.parametrize("value", [b"", b"[]", b"{}", b'{"ranks":2,"seats":{"7":1},"ends":{},"released":[]}', b"\xff"])
def test_what_somebody_else_has_written_concerns_nobody(value: bytes) -> None:
    with nodes(2) as rig:
        first, second = rig.nodes
        stranger = first.engine
        from jitc.proxy.cluster.store.engine import Change

        for prefix in (keys.COMMUNICATORS, keys.JOBS):
            stranger.compare_and_swap([Change(f"{prefix}strange", 0, value)])
        first.join(WORLD, 2, 0, first.session(1))
        second.join(WORLD, 2, 1, second.session(1))
        first.wait_linked(WORLD)
        second.wait_linked(WORLD)
