"""When findings are enough to rely on peers, and when a group is not measured any more."""

from __future__ import annotations

from jitc.proxy.protection.peer_mode.classes import Classes, Finding
from jitc.proxy.protection.peer_mode.group_policy import AGREEING, OBSTACLES, UNDECIDED, GroupPolicy


def found(mutable: int, *classified: int) -> Finding:
    return Finding({1: Classes(frozenset({mutable}), frozenset(), frozenset(classified))})


OBSTACLE = Finding(obstacle="the optimizer step waits")


def noted(*findings: Finding) -> GroupPolicy:
    policy = GroupPolicy((1,))
    for one in findings:
        policy.note(one)
    return policy


def test_findings_in_a_row_must_agree() -> None:
    assert noted(*[found(3)] * (AGREEING - 1)).agreed() is None
    assert noted(found(4), *[found(3)] * AGREEING).agreed() == {1: Classes(frozenset({3}), frozenset())}
    assert noted(*[found(3)] * AGREEING, found(4)).agreed() is None
    assert noted(found(3), OBSTACLE, *[found(3)] * (AGREEING - 1)).agreed() is None


def test_classified_is_what_all_findings_have_classified() -> None:
    agreed = noted(found(3, 1, 2, 3), found(3, 2, 3), found(3, 2, 3, 4)).agreed()
    assert agreed is not None and agreed[1].classified == {2, 3}


def test_only_obstacles_count_as_obstacles() -> None:
    """A job whose blocks take long to come to rest is not given up at the first step that waits."""
    policy = noted(*[found(number) for number in range(20)], OBSTACLE)
    assert policy.obstacles == 1
    assert noted(*[OBSTACLE, found(3)] * OBSTACLES).obstacles == OBSTACLES
    assert len(policy.findings) == AGREEING, "findings that nobody looks at any more are not kept"
    assert noted(*[OBSTACLE, found(3)] * (OBSTACLES - 1)).hopeless() == ""
    assert noted(*[OBSTACLE, found(3)] * OBSTACLES).hopeless() == OBSTACLE.obstacle
    policy.forget()
    assert (policy.found, policy.obstacles, policy.findings) == (0, 0, [])


def test_measuring_without_end_comes_to_one() -> None:
    """It costs time in each step."""
    different = [found(number) for number in range(UNDECIDED)]
    assert noted(*different[1:]).hopeless() == ""
    assert "again and again" in noted(*different).hopeless()


def test_what_is_copied_covers_what_must_be() -> None:
    policy = GroupPolicy((1,), classes={1: Classes(frozenset({3, 4}), frozenset({4}))})
    assert policy.covers({1: Classes(frozenset({3}), frozenset())})
    assert not policy.covers({1: Classes(frozenset({3, 5}), frozenset())})
    assert not policy.covers({1: Classes(frozenset({3}), frozenset({3}))})
    assert not policy.covers({2: Classes(frozenset(), frozenset())})
