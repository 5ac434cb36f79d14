"""Programs that wait in the progress page while workers are lost, with more streams than the page has places."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
from toolkit.job import ROOT
from toolkit.lockstep import Lockstep
from toolkit.service import RECOVERY_SECONDS, Service
from toolkit.waiting import stop_process, until
from toolkit.workplace import Workplace

PROGRAM = ROOT / "tests" / "end_to_end" / "page_steps.py"
Start = Callable[..., Lockstep]


def worker(service: Service, gpu: int, lost: int | None = None) -> int:
    """lost: was killed, maybe a moment ago; the next one is meant."""

    def found() -> int | None:
        pid = service.worker_pid(gpu)
        return pid if pid != lost else None

    return until(found, RECOVERY_SECONDS, f"GPU {gpu} has a worker")


def begin(program: Lockstep, number: int) -> None:
    """What it waits for has been given to its streams."""
    program.tell(str(number))
    assert program.answer() == "given"


@pytest.mark.sampled
@pytest.mark.parametrize("then", ["killed", "left to the service"])
def test_workers_that_stop_while_their_programs_wait(workplace: Workplace, start: Start, then: str) -> None:
    """Two jobs on a GPU each. Stopped, the one's worker says nothing more, whatever its program was about to hear."""
    service = workplace.service(2, ("--hang-seconds", "5"))
    one, two = (start(service, PROGRAM, gpu) for gpu in range(2))
    for program in (one, two):
        begin(program, 0)
    assert [one.answer(), two.answer()] == ["good", "good"]
    for number in (1, 2):
        stopped = worker(service, 0)
        stop_process(stopped)
        begin(one, number)
        begin(two, number)
        assert two.answer() == "good"  # the other job goes on
        if then == "killed":
            os.kill(stopped, signal.SIGKILL)
        assert one.answer() == "good"
        assert worker(service, 0) != stopped
    service.survived(2)
    for program in (one, two):
        program.close()
        assert program.finish() == (0, "")


def test_what_a_program_has_read_there_holds_after_a_loss(workplace: Workplace, start: Start) -> None:
    """Killed where it likes, again and again, while waits and queries of all kinds are under way."""
    service = workplace.service(2)
    program, lost = start(service, PROGRAM, 0), None
    for number in range(5):
        begin(program, number)
        lost = worker(service, 0, lost)
        os.kill(lost, signal.SIGKILL)
        assert program.answer() == "good"
    service.survived(5)
    program.close()
    assert program.finish() == (0, "")
