"""Descriptors of service and keeper: one program cannot use up what others need, and gets back what it destroys."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from toolkit.fakes import fake_options
from toolkit.lockstep import Lockstep
from toolkit.service import Service
from toolkit.waiting import until
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

PROGRAM = Path(__file__).with_name("communicator_steps.py")
KILL = control_pb2.Fault(kind="kill-worker")
#: Of the service, which is far less than usual, and the share that one program may have of communicators.
LIMIT = 256
SHARE = LIMIT // 4
Start = Callable[..., Lockstep]


def job(start: Start, service: Service, name: str, gpus: tuple[int, int]) -> list[Lockstep]:
    return [start(service, PROGRAM, gpu, 2, rank, name) for rank, gpu in enumerate(gpus)]


def tell(programs: list[Lockstep], what: str) -> list[str]:
    for one in programs:
        one.tell(what)
    return [one.answer() for one in programs]


def test_a_greedy_program_takes_its_own_share(workplace: Workplace, start: Start) -> None:
    """It gets the error; a job beside it goes on and is recovered, another one can begin; threads go on watching."""
    service = workplace.service(2, before=("prlimit", f"--nofile={LIMIT}:{LIMIT}"))
    innocent, greedy = job(start, service, "innocent", (0, 1)), job(start, service, "greedy", (1, 0))
    assert tell(innocent, "make 3") == ["3", "3"]
    assert tell(innocent, "sum") == ["3", "3"]
    for answer in tell(greedy, "make 500"):
        made, text = answer.split(" ", 1)
        assert SHARE - 4 <= int(made) <= SHARE, answer
        pattern = (
            rf"process \d+ has {made} communicators, .* \(ulimit -n {LIMIT}\): destroy some, or start it with more"
        )
        assert re.search(pattern, text), text
    assert tell(greedy, "sum") == [made, made]
    late = job(start, service, "late", (0, 1))
    assert tell(late, "make 5") == ["5", "5"]
    for gpu in (0, 1):
        service.inject(KILL, gpu)
        assert tell(innocent, "sum") == ["3", "3"]
        assert tell(innocent, "read") == [str(2 ** (gpu + 2))] * 2
    assert tell(late, "sum") == ["5", "5"]
    assert tell(late, "read") == tell(greedy, "read") == ["2", "2"]
    jobs = {f"pid {one.process.pid}" for one in (*innocent, *greedy, *late)}
    until(lambda: len({one["job"] for one in service.report()}) == 3, 30, "each job was recovered")
    assert {one["outcome"] for one in service.report()} == {"recovered"}
    assert {one["job"] for one in service.report()} <= jobs
    assert service.status()["gpus"][0]["sessions"], "status is answered"
    assert "goes on after" not in service.said()
    assert [one.finish()[0] for one in (*innocent, *greedy, *late)] == [0] * 6


def taken(service: Service) -> list[int]:
    """Descriptors of the service and its keeper."""
    keepers = [
        int(pid)
        for pid in os.listdir("/proc")
        if pid.isdigit() and b"jitc.proxy.keeper" in (words := command(pid)) and str(service.socket).encode() in words
    ]
    return [len(os.listdir(f"/proc/{pid}/fd")) for pid in (service.process.pid, *keepers)]


def command(pid: str) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def flat(service: Service, before: list[int]) -> bool:
    """Within what other things take at times."""
    return len(before) == 2 and all(now <= then + 12 for now, then in zip(taken(service), before, strict=True))


@pytest.mark.parametrize("device", ["software", "cuda"])
def test_what_is_destroyed_is_given_back(
    device: str, workplace: Workplace, start: Start, request: pytest.FixtureRequest
) -> None:
    """Also by a replay that makes and destroys it again, after a hand-over, and by ncclCommAbort."""
    options, env = (), dict[str, str]()
    if device == "cuda":
        options = ("--device", "cuda", *fake_options("nccl", "nvrtc"))
        env = request.getfixturevalue("environment")
    service = workplace.service(2, options, **env)
    ranks, power = job(start, service, "many", (0, 1)), 0
    assert tell(ranks, "make") == ["1", "1"]
    assert tell(ranks, "cycle 5") == tell(ranks, "one") == ["1", "1"]
    before = taken(service)
    for turn in range(4):
        assert tell(ranks, "cycle 40") == ["1", "1"]
        assert tell(ranks, "make 10") == ["11", "11"]
        assert tell(ranks, "abort 3") == ["8", "8"]
        assert tell(ranks, "destroy 7") == ["1", "1"]
        if turn == 0:
            service.inject(KILL, 0)
            assert tell(ranks, "sum") == ["1", "1"]
            power += 1
        if turn == 1:
            assert tell(ranks, "boundary") == ["1", "1"]
        if turn == 2:
            service.replace()
        if turn == 3:
            service.inject(KILL, 1)
        power += 40
        assert tell(ranks, "read") == [str(1 << power)] * 2
        assert tell(ranks, "one") == ["1", "1"]
        power = 0
        until(lambda: flat(service, before), 20, f"what was destroyed is given back: {before}, {taken(service)}")
    assert {one["outcome"] for one in service.report()} == {"recovered"}
    assert [one.finish()[0] for one in ranks] == [0, 0]


@pytest.mark.parametrize("times", [500, pytest.param(20_000, marks=(pytest.mark.slow, pytest.mark.timeout(900)))])
def test_so_many_that_come_and_go_take_no_more(times: int, workplace: Workplace, start: Start) -> None:
    service = workplace.service(2)
    ranks = job(start, service, "many", (0, 1))
    assert tell(ranks, "make") == tell(ranks, "cycle 5") == ["1", "1"]
    before = taken(service)
    for _ in range(times // 250):
        assert tell(ranks, "cycle 250") == tell(ranks, "boundary") == ["1", "1"]
    until(lambda: flat(service, before), 20, f"what was destroyed is given back: {before}, {taken(service)}")
    assert [one.finish()[0] for one in ranks] == [0, 0]
