"""Who may act for a session of a job over nodes: pure rules, which the model of recoveries uses as well."""

from __future__ import annotations

import pytest

from jitc.proxy.cluster.ranks.rights import Away, Duty, admits, duty, followed, may_take


def test_a_home_admits_its_leader_in_its_term_and_nobody_else() -> None:
    away = Away("b", 7)
    assert admits(away, "b", 7)
    assert not admits(away, "b", 6), "an earlier term"
    assert not admits(away, "c", 7), "another node"
    assert not admits(Away("b", 7, letting_go=True), "b", 7)
    assert not admits(None, "b", 7), "it leads the session itself"


def test_nobody_is_admitted_while_nobody_leads() -> None:
    away = Away("b", 7, noted=3)
    away.follow(None, 8)
    assert (away.leader, away.term, away.noted) == (None, 0, 0)
    assert not admits(away, "b", 7)


@pytest.mark.parametrize(
    ("away", "leader", "refused", "due"),
    [
        (None, "a", False, Duty.NOTHING),
        (None, "a", True, Duty.LET_GO),  # the store knows better
        (None, "b", False, Duty.LET_GO),
        (None, None, False, Duty.LET_GO),  # its lease is over
        (Away(None, letting_go=True), "b", False, Duty.NOTHING),  # first it lets go
        (Away(None), "b", False, Duty.FOLLOW),
        (Away("b", 7), "b", False, Duty.NOTHING),
        (Away("b", 7), "c", False, Duty.FOLLOW),
        (Away("b", 7), None, False, Duty.FOLLOW),
        (Away("b", 7), "a", False, Duty.FOLLOW),  # it leads, and admits nobody
        (Away(None), "a", False, Duty.NOTHING),  # it may take it
    ],
)
def test_what_a_home_has_to_do(away: Away | None, leader: str | None, refused: bool, due: Duty) -> None:
    assert duty("a", away, leader, refused) is due


def test_a_home_follows_others_only() -> None:
    assert followed("a", "b") == "b"
    assert followed("a", "a") is None
    assert followed("a", None) is None


def test_a_home_takes_what_it_leads_once_it_has_let_go_and_the_store_agrees() -> None:
    assert may_take("a", Away(None), "a")
    assert not may_take("a", Away(None), "b")
    assert not may_take("a", Away(None), None)
    assert not may_take("a", Away(None, letting_go=True), "a")
    assert not may_take("a", Away(None), "a", refused=True)
