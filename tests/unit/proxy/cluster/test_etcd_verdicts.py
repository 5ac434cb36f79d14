"""Parts of the engine for etcd by themselves: what failures mean, and revisions that never go back."""

from __future__ import annotations

import grpc
import pytest
from engine_rig import Seen

from jitc.proxy.cluster.store.engines.etcd.errors import Kind, judge, judge_reason
from jitc.proxy.cluster.store.engines.etcd.revisions import NEVER, Revisions

CODES = grpc.StatusCode


class Failed(grpc.RpcError):
    """A call that has failed so."""

    def __init__(self, code: grpc.StatusCode, details: str | None) -> None:
        super().__init__()
        self._said = code, details

    def code(self) -> grpc.StatusCode:
        return self._said[0]

    def details(self) -> str | None:
        return self._said[1]


@pytest.mark.parametrize(
    ("code", "details", "kind"),
    [
        (CODES.UNAVAILABLE, "failed to connect to all addresses; last error: UNKNOWN: ipv4:1.2.3.4:1: no", Kind.UNSENT),
        (CODES.UNAVAILABLE, "DNS resolution failed for h:1: C-ares status is not ARES_SUCCESS", Kind.UNSENT),
        (CODES.UNAVAILABLE, "etcdserver: no leader", Kind.UNSENT),
        (CODES.RESOURCE_EXHAUSTED, "etcdserver: too many requests", Kind.UNSENT),
        (CODES.UNAVAILABLE, "etcdserver: leader changed", Kind.LOST),
        (CODES.UNAVAILABLE, "etcdserver: request timed out", Kind.LOST),
        (CODES.UNAVAILABLE, "etcdserver: request timed out, possibly due to previous leader failure", Kind.LOST),
        (CODES.UNAVAILABLE, "Socket closed", Kind.LOST),
        (CODES.UNAVAILABLE, "", Kind.LOST),
        (CODES.UNKNOWN, None, Kind.LOST),
        (CODES.DEADLINE_EXCEEDED, "Deadline Exceeded", Kind.LOST),
        (CODES.CANCELLED, "Channel closed!", Kind.LOST),
        (CODES.RESOURCE_EXHAUSTED, "CLIENT: Received message larger than max (5 vs. 4)", Kind.REFUSED),
        (CODES.NOT_FOUND, "etcdserver: requested lease not found", Kind.NO_LEASE),
        (CODES.UNAUTHENTICATED, "etcdserver: invalid auth token", Kind.LOGIN),
        (CODES.INVALID_ARGUMENT, "etcdserver: revision of auth store is old", Kind.LOGIN),
        (CODES.FAILED_PRECONDITION, "etcdserver: authentication is not enabled", Kind.NO_LOGIN),
        (CODES.RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded", Kind.REFUSED),
        (CODES.PERMISSION_DENIED, "etcdserver: permission denied", Kind.REFUSED),
        (CODES.DATA_LOSS, "etcdserver: corrupt cluster", Kind.REFUSED),
        (CODES.UNIMPLEMENTED, "unknown service etcdserverpb.KV", Kind.UNSENT),
        (CODES.INVALID_ARGUMENT, "etcdserver: something new", Kind.REFUSED),
    ],
)
def test_only_what_is_sure_is_taken_for_a_request_without_effect(
    code: grpc.StatusCode, details: str | None, kind: Kind
) -> None:
    failure = judge(Failed(code, details))
    assert failure.kind is kind and str(failure)


def test_foreign_texts_have_one_short_line() -> None:
    for details in ("a\nb\x1b[2J" * 500, "failed to connect to all addresses; last error: X: " + "a\nb" * 500):
        text = str(judge(Failed(CODES.UNKNOWN, details)))
        assert text.isprintable() and len(text) < 1000


def test_why_a_watch_has_ended() -> None:
    assert judge_reason("etcdserver: permission denied").kind is Kind.REFUSED
    assert judge_reason("etcdserver: invalid auth token").kind is Kind.LOGIN
    assert judge_reason("").kind is Kind.LOST and "no reason" in str(judge_reason(""))


# ---- revisions ----------------------------------------------------------------------------------
def test_revisions_are_etcd_s_until_data_are_lost() -> None:
    lost = Seen[str]()
    revisions = Revisions(lost)
    for number in (1, 5, 5, 9):
        assert revisions.take(revisions.mark(), number) == 0
    mark = revisions.mark()
    assert [mark.of_etcd(one) for one in (0, 1, 9)] == [0, 1, 9]
    assert lost.all == []


def test_after_a_loss_all_revisions_are_newer_than_all_before() -> None:
    lost = Seen[str]()
    revisions = Revisions(lost)
    revisions.take(revisions.mark(), 9)
    base = revisions.take(revisions.mark(), 1)
    assert base + 1 > 9 and len(lost.all) == 1 and "revision 1 after 9" in lost.all[0]
    mark = revisions.mark()
    assert [mark.of_etcd(one) for one in (0, 9, base + 1)] == [0, NEVER, 1]
    assert revisions.take(mark, 7) == base
    again = revisions.take(revisions.mark(), 2)
    assert again + 2 > base + 7 and len(lost.all) == 2


def test_answers_that_overlap_are_no_loss() -> None:
    """One is asked for before another, and comes after it."""
    lost = Seen[str]()
    revisions = Revisions(lost)
    revisions.take(revisions.mark(), 5)
    early = revisions.mark()
    revisions.take(revisions.mark(), 9)
    assert revisions.take(early, 6) == 0 and lost.all == []
    assert revisions.mark().newest == 9


def test_a_loss_that_several_calls_see_is_one() -> None:
    lost = Seen[str]()
    revisions = Revisions(lost)
    revisions.take(revisions.mark(), 9)
    marks = [revisions.mark() for _ in range(3)]
    assert {revisions.take(one, number) for one, number in zip(marks, (1, 3, 2), strict=True)} == {9}
    assert len(lost.all) == 1 and revisions.mark().newest == 3


def test_an_answer_of_before_a_loss_stays_older() -> None:
    revisions = Revisions(Seen[str]())
    revisions.take(revisions.mark(), 5)
    early = revisions.mark()
    revisions.take(revisions.mark(), 9)
    base = revisions.take(revisions.mark(), 1)
    assert revisions.take(early, 8) + 8 < base + 1
    assert revisions.mark().newest == 1, "it says nothing of what there is now"
