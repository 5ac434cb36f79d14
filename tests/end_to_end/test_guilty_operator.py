"""A program calls an operator of PyTorch with what its kernel cannot bear: it gets the error, and nobody else notices.

Another program trains on the same GPU meanwhile; its results are those of its run alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from toolkit.job import Script
from toolkit.jobs import JOBS
from toolkit.lockstep import Lockstep
from toolkit.record import Record, assert_identical
from toolkit.waiting import until
from toolkit.workplace import Workplace

GUILTY = Path(__file__).with_name("guilty_steps.py")
TRAIN = Script(JOBS["gpt"].name, (*JOBS["gpt"].arguments, "--steps", "40"), ranks=1)
Start = Callable[..., Lockstep]
Reference = Callable[[Script, str], list[Record]]


def ask(program: Lockstep, line: str) -> str:
    program.tell(line)
    return program.answer()


def test_places_that_are_not_there(workplace: Workplace, start: Start) -> None:
    """The operator is refused before it writes anywhere; the program goes on with the same worker."""
    service = workplace.service(1)
    guilty = start(service, GUILTY)
    assert guilty.answer() == "ready"
    before = ask(guilty, "state")
    said = ask(guilty, "places")
    assert said.startswith("IndexError: Argument 'indices' is out of range"), said
    assert ask(guilty, "state") == before
    assert service.report() == []


def test_index_that_is_out_of_range(workplace: Workplace, start: Start) -> None:
    """A device-side assert, as on a GPU: the program has it from then on, without a replay; others go on."""
    service = workplace.service(1)
    guilty, other = start(service, GUILTY), start(service, GUILTY)
    assert [one.answer() for one in (guilty, other)] == ["ready", "ready"]
    before = ask(other, "state")
    for _ in range(2):
        assert "device-side assert triggered" in ask(guilty, "index")
    assert "device-side assert triggered" in ask(guilty, "state")
    assert ask(other, "state") == before
    [found] = until(lambda: service.report() or None, 20, "the report")
    assert (found["cause"], found["attempts"]) == ("device-assert", 1)
    assert "index 1000000 is out of bounds" in found["message"], found
    assert found["outcome"].startswith("the program's own error"), found


def test_kernel_that_ends_the_worker(workplace: Workplace, start: Start, reference: Reference) -> None:
    """Each replay ends another worker, until the program gets the error."""
    expected = reference(TRAIN, "cuda")
    service = workplace.service(1)
    guilty, other = start(service, GUILTY), start(service, GUILTY)
    assert [one.answer() for one in (guilty, other)] == ["ready", "ready"]
    before = ask(other, "state")
    job = workplace.job(TRAIN, service)
    until(lambda: job.steps() >= 2 or job.process.poll() is not None, 120, "step 2")
    said = ask(guilty, "eigenvalues")
    assert "Error" in said, said
    workplace.note(f"the guilty program was told: {said}")
    assert_identical(job.finish().successful().records, expected)
    assert ask(other, "state") == before
    [found] = service.report()
    assert (found["job"], len(found["sessions"])) == (f"pid {guilty.process.pid}", 1)
    assert found["outcome"].startswith("given up"), found


def test_kernel_that_never_ends(workplace: Workplace, start: Start) -> None:
    """It is stopped with its worker each time, so that the program gets the error, and gets it soon."""
    service = workplace.service(1, ("--hang-seconds", "5"))
    guilty = start(service, GUILTY)
    assert guilty.answer() == "ready"
    said = ask(guilty, "endless")
    assert "the launch timed out and was terminated" in said, said
    until(lambda: service.report() or None, 20, "the report, which is written when the program has its error already")
    found = service.report()[-1]
    assert (found["job"], len(found["standings"])) == (f"pid {guilty.process.pid}", 1)
    assert found["outcome"].startswith("the program's own error"), found
