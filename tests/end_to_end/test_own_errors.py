"""Errors of the program's own: it gets the CUDA error that a GPU gives, after two replays at most.

What is counted is faults that were met, not only that the program ended: each attempt of a recovery is one. Operators
with an index out of range, or that end their worker or never end, are in test_guilty_operator.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from toolkit.lockstep import Lockstep
from toolkit.service import Service, attempts, kill_at_op
from toolkit.waiting import until
from toolkit.workplace import Workplace

GUILTY = Path(__file__).with_name("guilty_steps.py")
#: After these a fault that comes back at the same op is the program's.
REPLAYS = 2
Start = Callable[..., Lockstep]
Property = Callable[[str, object], None]


def ask(program: Lockstep, line: str) -> str:
    program.tell(line)
    return program.answer()


def ended_with_its_error(service: Service, times: int) -> None:
    """The fault was met so often, and then handed to the program."""
    until(
        lambda: any(one["outcome"].startswith("the program's own error") for one in service.report()), 20, "the report"
    )
    report = service.report()
    assert attempts(report) == times, report
    assert [one["outcome"] for one in report[:-1]] == ["recovered"] * (len(report) - 1), report


def test_illegal_access(workplace: Workplace, start: Start, record_property: Property) -> None:
    """Injected more often than it is to be tried: the last ones never come about."""
    service = workplace.service(1)
    guilty = start(service, GUILTY)
    assert guilty.answer() == "ready"  # before there is another: faults are meant for the first session
    other = start(service, GUILTY)
    assert other.answer() == "ready"
    before = [ask(one, "state") for one in (guilty, other)]
    mine = next(one for one in service.status()["gpus"][0]["sessions"] if one["pid"] == guilty.process.pid)
    for _ in range(REPLAYS + 3):
        service.inject(kill_at_op(mine["ops_executed"] + 5, kind="sticky-error"), 0)
    said = next(one for one in (ask(guilty, "state") for _ in range(10)) if one != before[0])
    assert said == "AcceleratorError: CUDA error: an illegal memory access was encountered", said
    assert ask(guilty, "state") == said, "it is sticky for the program"
    ended_with_its_error(service, REPLAYS + 1)
    assert {one["cause"] for one in service.report()} == {"sticky-error"}
    record_property("seconds", sum(one["seconds"] for one in service.report()))
    assert ask(other, "state") == before[1]


def test_more_memory_than_there_is(workplace: Workplace, start: Start) -> None:
    """An answer like any other: no fault, no recovery, and the program goes on."""
    service = workplace.service(1)
    guilty = start(service, GUILTY)
    assert guilty.answer() == "ready"
    before = ask(guilty, "state")
    for _ in range(2):
        assert ask(guilty, "memory").startswith("OutOfMemoryError: CUDA out of memory")
    assert ask(guilty, "state") == before
    assert service.report() == []


def test_nan_in_a_collective_that_checks_for_it(workplace: Workplace, start: Start) -> None:
    """A device-side assert: no replay could help."""
    service = workplace.service(1, TORCH_NCCL_NAN_CHECK="1")
    guilty = start(service, GUILTY)
    assert guilty.answer() == "ready"
    assert "device-side assert triggered" in ask(guilty, "nan")
    ended_with_its_error(service, 1)
    [found] = service.report()
    assert found["cause"] == "device-assert"
