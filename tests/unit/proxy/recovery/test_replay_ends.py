"""Up to which op a rank must run again before it counts as recovered."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from jitc.proxy.ranks.states import SessionState
from jitc.proxy.recovery.recovery import Recovery

#: It had been given ops that it had not run.
POSITION = SimpleNamespace(executed=5, received=9)


def end(*, lost: bool, failed: int = 0, state: SessionState = SessionState.SERVING, worker: Any = "one") -> int:
    session: Any = SimpleNamespace(number=1, state=state, worker=worker)
    recovery: Any = SimpleNamespace(
        _positions={1: POSITION}, _lost={1} if lost else set(),
        incident=SimpleNamespace(failed_at=lambda one: failed if one is session else 0),
    )  # fmt: skip
    return Recovery._replay_end(recovery, session)


def test_a_lost_rank_runs_all_that_it_had_received() -> None:
    """Nobody knows what of it had run when its worker was lost: the program may have seen what came of it."""
    assert end(lost=True) == POSITION.received


def test_a_healthy_rank_runs_what_it_had_run_and_what_failed() -> None:
    assert end(lost=False) == POSITION.executed
    assert end(lost=False, failed=7) == 7
    assert end(lost=False, failed=POSITION.received + 1) == POSITION.received


def test_a_rank_that_has_ended_is_not_waited_for() -> None:
    assert end(lost=True, state=SessionState.CLOSED) == 0
    assert end(lost=True, worker=None) == 0
