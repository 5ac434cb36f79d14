"""How far numbers of a replay may be off, what a job showed, and replays that go another way each time."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from client_rig import STATE, RealClient, inject, serving
from histories import in_step
from standin_client import wait_until

from jitc.proxy.common.config import Config
from jitc.proxy.node.session import Session
from jitc.proxy.protection.determinism.tolerance import LEAST, MOST, TIMES, UNKNOWN, Tolerances
from jitc.proxy.recovery.decide import Decision, Kind, RankPosition, decide
from jitc.proxy.recovery.limits import ASTRAY_BEFORE_OLDER, REPLAYS_ASTRAY, Limits
from jitc.proxy.service import Service

GROUP = [cast("Session", SimpleNamespace(number=number)) for number in (1, 2)]
F32 = 3


def tolerances(mode: str, device: str = "cuda", noise: int = 0) -> Tolerances:
    return Tolerances(Config(socket="/s", device=device, replay_mismatch=mode, noise=noise))


def shown(outcome: str, results: int = 0, largest: float = 0.0) -> dict[str, Any]:
    return {"outcome": outcome, "differences": {"results": results, "largest": largest}}


@pytest.mark.parametrize(
    ("mode", "verdict", "bound"),
    [
        ("strict", shown("different", 1, 1e-3), 0.0),
        ("auto", shown("identical"), 0.0),
        ("auto", shown("different", 2, 1e-3), TIMES * 1e-3),
        ("auto", shown("different", 2, 1e-9), LEAST),
        ("auto", shown("different", 2, 0.5), MOST),
        ("auto", shown("different"), UNKNOWN),
        ("auto", shown("interrupted: a fault came in between"), UNKNOWN),
        ("tolerant", shown("identical"), LEAST),
        ("tolerant", shown("different", 2, 1e-3), TIMES * 1e-3),
    ],
)
def test_the_bound_follows_from_what_a_job_showed(mode: str, verdict: dict[str, Any], bound: float) -> None:
    one = tolerances(mode)
    assert one.bound(GROUP) == (0.0 if mode == "strict" else UNKNOWN)
    one.learn(GROUP, verdict)
    assert one.bound(GROUP) == bound
    for session in GROUP:
        one.forget(session)
    assert one.bound(GROUP) == (0.0 if mode == "strict" else UNKNOWN)


def test_the_software_device_is_deterministic_but_for_noise() -> None:
    exact = tolerances("auto", "software")
    assert (exact.bound(GROUP), exact.careful) == (0.0, False)
    noisy = tolerances("auto", "software", noise=1)
    assert (noisy.bound(GROUP), noisy.careful) == (UNKNOWN, True)


def test_replays_astray_are_counted_whatever_the_op() -> None:
    limits = Limits()
    assert [limits.count_astray(1) for _ in range(REPLAYS_ASTRAY + 1)] == [False] * REPLAYS_ASTRAY + [True]
    assert limits.prefers_older_boundary(1) and not limits.prefers_older_boundary(2)
    limits.note_caught_up(1, 10)
    assert not limits.count_astray(1) and not limits.prefers_older_boundary(1)
    assert ASTRAY_BEFORE_OLDER < REPLAYS_ASTRAY


def position(prepared: int, committed: int) -> RankPosition:
    history = in_step(*filter(None, (committed if committed < prepared else 0, prepared)))
    return RankPosition(prepared=prepared, begun=prepared, lost=False, history=history, committed=committed)


@pytest.mark.parametrize(
    ("committed", "boundary"), [((6, 6), 6), ((7, 7), 7), ((6, 7), 7), ((0, 0), 7)], ids=str
)  # fmt: skip
def test_an_older_boundary_where_all_ranks_keep_it(committed: tuple[int, int], boundary: int) -> None:
    ranks = {number: position(7, one) for number, one in enumerate(committed)}
    assert decide(ranks, peer_mode=False, older=True) == Decision(Kind.ROLL_BACK, dict.fromkeys(ranks, boundary))
    assert decide(ranks, peer_mode=False) == Decision(Kind.ROLL_BACK, dict.fromkeys(ranks, 7))


def test_reserves_are_not_what_is_meant_by_older() -> None:
    """They may be a thousand minibatches back: where a rank keeps nothing else before its newest, that one it is."""
    ranks = {
        number: RankPosition(7, 7, lost=False, history=in_step(3, committed, 7), committed=committed, reserves=(3,))
        for number, committed in enumerate((5, 6))
    }
    assert decide(ranks, peer_mode=False, older=True) == Decision(Kind.ROLL_BACK, {0: 7, 1: 7})


@pytest.fixture
def noisy(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path, gpus=1, noise=1) as one:
        yield one


def lose_what_was_read(service: Service, had: bytes, element: int) -> RealClient:
    """A block that no boundary names is zeros for the new worker; the program has read other bytes from it."""
    client = RealClient(service)
    client.start()
    client.write(4096, had)
    client.step(STATE)
    assert client.call("copy_d2h", client.base + 4096, len(had), element, 0) == had
    assert inject(client, "kill-worker", wait=10).fired
    return client


def error_of(client: RealClient) -> tuple[int, str]:
    with pytest.raises(AssertionError):
        client.call("device_synchronize")
    assert client.fault is not None
    return client.fault


def test_a_replay_that_never_goes_the_programs_way(noisy: Service) -> None:
    client = lose_what_was_read(noisy, b"\7\0\0\0", element=0)
    status, text = error_of(client)
    assert status == 999 and "it steers what the program does next" in text
    wait_until(noisy, lambda: bool(noisy.own.recoveries()))
    [one] = noisy.own.recoveries()
    assert one["outcome"].startswith("the program's own error") and one["attempts"] == REPLAYS_ASTRAY + 2, one
    client.close()


def test_numbers_that_went_to_zero_are_no_small_difference(noisy: Service) -> None:
    client = lose_what_was_read(noisy, struct.pack("<f", 1e-30), F32)
    assert "more than the 0.01" in error_of(client)[1]
    client.close()
