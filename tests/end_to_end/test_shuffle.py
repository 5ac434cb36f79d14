"""`--shuffle`: whatever comes late, a program that relies on what CUDA promises gets the same; another one is found.

Programs run plainly, with seeds, and with workers lost meanwhile.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from toolkit import workplace as workplaces
from toolkit.job import PRELOAD, ROOT, Script, run_command
from toolkit.jobs import JOBS
from toolkit.lockstep import Lockstep
from toolkit.record import Record, assert_identical
from toolkit.service import Service, kill_at
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
FOLDER = ROOT / "tests" / "end_to_end"
#: The first is for every run.
SEEDS = [str(seed) if seed == 1 else pytest.param(str(seed), marks=pytest.mark.slow) for seed in range(1, 21)]
#: Times that each promise is tried with each seed: 200 with all of them.
TRIES = 10
STEPS = 5
GPU = 1
#: A seed that delays a copy of lucky_steps.py beyond its waits, several times; found by trying.
UNLUCKY, ROUNDS = "1", "300"


def lines(service: Service, program: str, *arguments: object) -> list[str]:
    """What the program prints."""
    command = [sys.executable, str(FOLDER / program), *map(str, arguments)]
    done = run_command(command, env=service.env | {"LD_PRELOAD": str(PRELOAD)}, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


# -- jobs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("job", [pytest.param(name, marks=pytest.mark.slow) for name in JOBS])
@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_a_job_is_the_same_with_any_seed(job: str, seed: str, workplace: Workplace, reference: Reference) -> None:
    """Nothing that comes late is taken for a fault."""
    service = workplace.service(2, ("--shuffle", seed))
    assert_identical(workplace.run(JOBS[job], service).records, reference(JOBS[job], "cuda"))
    assert service.report() == []


@pytest.mark.parametrize(
    ("job", "phase"),
    [
        ("gpt", "backward"),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in (
            ("gpt", "optimizer"), ("cnn", "copy"), ("accumulate", "collective"), ("fsdp", "forward"),
            ("cnn", "boundary"),
        )),
    ],
)  # fmt: skip
def test_a_worker_is_lost_meanwhile(job: str, phase: str, workplace: Workplace, reference: Reference) -> None:
    service = workplace.service(2, ("--shuffle", "4"))
    service.inject(kill_at(2, phase), GPU)
    assert_identical(workplace.run(JOBS[job], service).records, reference(JOBS[job], "cuda"))
    service.survived(1)


# -- streams, events, pinned memory --------------------------------------------------------------------


@pytest.fixture(scope="module")
def plain(shared_workplace: Workplace) -> list[str]:
    """Of lane_steps.py, without anything that comes late."""
    found = lines(shared_workplace.service(1), "lane_steps.py", STEPS)
    assert len(found) == STEPS and not any(line.startswith("broken") for line in found)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", list(map(str, range(1, 21))))
def test_numbers_that_pass_from_stream_to_stream_are_the_same(
    seed: str, workplace: Workplace, plain: list[str]
) -> None:
    assert lines(workplace.service(1, ("--shuffle", seed)), "lane_steps.py", STEPS) == plain


@pytest.mark.sampled
def test_they_are_though_workers_are_lost(workplace: Workplace, plain: list[str]) -> None:
    service = workplace.service(1, ("--shuffle", "5"))
    faults = [kill_at(1, "copy", 4), kill_at(2, "forward", 7), kill_at(3, "copy", 9), kill_at(4, "optimizer")]
    for fault in faults:
        service.inject(fault, 0)
    assert lines(service, "lane_steps.py", STEPS) == plain
    service.survived(len(faults))


@pytest.mark.sampled
@pytest.mark.parametrize("seed", SEEDS)
def test_promises_are_kept(seed: str, workplace: Workplace, start: Callable[..., Lockstep]) -> None:
    """docs/promises.md."""
    service = workplace.service(2, ("--shuffle", seed))
    program = start(service, FOLDER / "promise_steps.py")
    program.tell("names")
    names = program.answer().split()
    assert len(names) > 20
    kept = {}
    for name in names:
        program.tell(f"{name} {TRIES}")
        kept[name] = program.answer()
    assert kept == dict.fromkeys(names, str(TRIES))
    program.close()
    assert program.finish() == (0, "")
    assert lines(service, "event_steps.py", TRIES) == ["wrong 0 0 0 0 0 0 0"]
    assert service.report() == []


def test_a_race_that_luck_hides_is_found(workplace: Workplace) -> None:
    """On one processor, where what was given first runs first: without the seed hardly any round is wrong there. How
    many are is luck, and says nothing."""
    before = ("taskset", "-c", str(min(os.sched_getaffinity(0))))
    [said] = lines(workplace.service(2, ("--shuffle", UNLUCKY), before), "lucky_steps.py", ROUNDS)
    assert said.startswith("wrong ")


# -- the seed ------------------------------------------------------------------------------------------


def test_a_failure_says_its_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a failing test keeps is enough to run it again."""
    monkeypatch.setattr(workplaces, "EVIDENCE", tmp_path)
    place = Workplace("failed")
    service = place.service(1, ("--shuffle", "77"))
    assert place.close(failed=True) == []
    assert json.loads((tmp_path / "failed" / "s0.status.json").read_text())["shuffle"] == 77
    assert shlex.join(service.command) in (tmp_path / "failed" / "replay.txt").read_text()
    assert service.command[-2:] == ["--shuffle", "77"]
