"""Communicators whose ranks cannot come, or do not: the program is told, with the rank that is missing."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from toolkit.fakes import fake_options
from toolkit.job import PRELOAD, ROOT
from toolkit.lockstep import Lockstep
from toolkit.service import BIN, Service
from toolkit.waiting import until
from toolkit.workplace import Workplace

PROGRAM = ROOT / "tests" / "end_to_end" / "join_steps.py"
RESTARTED = ROOT / "tests" / "end_to_end" / "stale_id.py"
REMOTE_ERROR = 6
ENDED = (
    r"6 ncclCommInitRank: (cannot join the communicator: )?"
    r"this communicator has ended: its rank {} of {}, process {}, ended at [\d:]+"
)
Start = Callable[..., Lockstep]


@pytest.fixture(params=["software", "cuda"])
def options(request: pytest.FixtureRequest) -> tuple[tuple[str, ...], dict[str, str]]:
    """Of the service on each device, and its environment."""
    if request.param == "software":
        return (), {}
    return ("--device", "cuda", *fake_options("nccl", "nvrtc")), request.getfixturevalue("environment")


def waiting_for(service: Service) -> list[str]:
    return [one["waiting_for"] for gpu in service.status()["gpus"] for one in gpu["sessions"] if one["waiting_for"]]


def closed(service: Service, count: int) -> Callable[[], bool]:
    """Whether so many sessions are left."""
    return lambda: sum(len(gpu["sessions"]) for gpu in service.status()["gpus"]) == count


def test_a_rank_that_ends_before_all_have_come(workplace: Workplace, options: Any, start: Start) -> None:
    """Those who wait are told at once, and so is who comes later with the same id."""
    service = workplace.service(2, options[0], **options[1])
    first = start(service, PROGRAM, 0, 3, 0, "new")
    name = first.answer()
    second = start(service, PROGRAM, 1, 3, 1, name)
    for one in (first, second):
        one.tell()
    waits = "communicator of 3 ranks: rank 2 missing"
    until(lambda: waiting_for(service) == [waits] * 2, 30, "both have joined")
    second.kill()
    pattern = ENDED.format(1, 3, second.process.pid)
    assert re.fullmatch(pattern, first.answer())
    late = start(service, PROGRAM, 1, 3, 1, name)
    assert re.fullmatch(pattern, late.step())
    assert waiting_for(service) == []
    assert re.search("jitc: " + pattern.removeprefix("6 "), first.finish()[1])
    assert service.report() == []


def test_the_id_of_a_communicator_that_has_ended(workplace: Workplace, options: Any, start: Start) -> None:
    service = workplace.service(2, options[0], **options[1])
    first = start(service, PROGRAM, 0, 2, 0, "new")
    name = first.answer()
    second = start(service, PROGRAM, 1, 2, 1, name)
    for one in (first, second):
        one.tell()
    assert [first.answer(), second.answer()] == ["0", "0"]
    for one in (first, second):
        one.kill()
    until(closed(service, 0), 30, "the sessions are closed")
    again = start(service, PROGRAM, 1, 2, 1, name)
    assert re.fullmatch(ENDED.format("[01]", 2, r"\d+"), again.step())
    fresh = [start(service, PROGRAM, 0, 2, 0, "new")]
    fresh.append(start(service, PROGRAM, 1, 2, 1, fresh[0].answer()))
    for one in fresh:
        one.tell()
    assert [one.answer() for one in fresh] == ["0", "0"]


def test_a_rank_that_never_comes(workplace: Workplace, options: Any, start: Start) -> None:
    service = workplace.service(1, (*options[0], "--hang-seconds", "6"), **options[1])
    one = start(service, PROGRAM, 0, 2, 0, "new")
    one.answer()
    one.tell()
    until(lambda: waiting_for(service) == ["communicator of 2 ranks: rank 1 missing"], 30, "it waits")
    why = "rank 1 of this communicator of 2 did not join within 6 s (--hang-seconds)"
    assert one.answer() == f"{REMOTE_ERROR} ncclCommInitRank: {why}"
    assert f"jitc-proxyd: {why}" in service.said()
    assert one.finish()[0] == 0
    assert service.report() == []


@pytest.mark.slow
def test_restarted_by_torchrun(workplace: Workplace) -> None:
    """The first rank of the second attempt finds the id of the first attempt in a store that the attempts share."""
    service = workplace.service(2)
    env = service.env | {"LD_PRELOAD": str(PRELOAD), "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "500"}
    env["JITC_STORE_PER_ATTEMPT"] = "0"
    command = [str(BIN / "torchrun"), "--standalone", "--nproc-per-node", "2", "--max-restarts", "1", str(RESTARTED)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    output = done.stdout + done.stderr
    assert done.returncode == 1
    assert [f"attempt 0 rank {rank}: 2.0" in output for rank in range(2)] == [True, True]
    assert "ncclRemoteError" in output
    ended = "this communicator has ended: its rank . of 2, process \\d+, ended"
    assert re.search(rf"Last error:\s+(?:\[rank\d\]: )?ncclCommInitRank: .*{ended}", output)
    assert "JITC_STORE_PER_ATTEMPT=0, each attempt gets its own" in output
    until(closed(service, 0), 30, "nobody is left")
