"""Descriptors of service and keeper: one program cannot use up what others need."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

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
