"""A service in a control group with a memory limit, as in a container: what its GPUs have, and what becomes of a
program whose worker the kernel ends.

Where no control group can be made, tests/unit/proxy/recovery/test_want_of_memory.py has the same with made-up files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from toolkit.control_groups import ControlGroup, control_group
from toolkit.lockstep import Lockstep
from toolkit.service import attempts
from toolkit.waiting import until
from toolkit.workplace import Workplace

GIB, MIB = 1 << 30, 1 << 20
GROWING = Path(__file__).with_name("growing_steps.py")


def ask(program: Lockstep, line: str) -> str:
    program.tell(line)
    return program.answer()


@pytest.fixture
def container() -> Iterator[ControlGroup]:
    """Made before the workplace, so that it goes when all processes in it have."""
    with control_group() as made:
        if made is None:
            pytest.skip("no control group can be made here; the same with made-up files: test_want_of_memory.py")
        yield made


def test_a_worker_killed_for_memory(
    container: ControlGroup, workplace: Workplace, start: Callable[..., Lockstep]
) -> None:
    container.limit(4 * GIB)
    service = workplace.service(1, ("--memory-limit", "8GiB", "--copies-limit", "64MiB"), container.before())
    assert service.status()["gpus"][0]["memory_total"] == 8 * GIB
    [told] = service.said().splitlines()
    assert "--memory-limit 8.0 GiB for 1 GPU is more than" in told and f"4.0 GiB: {container.limit_file}" in told
    guilty, neighbour = (start(service, GROWING) for _ in range(2))
    assert [guilty.answer(), neighbour.answer()] == ["ready", "ready"]
    before = ask(neighbour, "state")
    container.limit(container.used() + GIB)  # far less than a GPU has
    assert ask(guilty, "grow") in (
        "AcceleratorError: CUDA error: out of memory",
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 8.00 GiB of",
    )
    assert ask(guilty, "again") == "AcceleratorError: CUDA error: out of memory", "it is sticky for the program"
    until(lambda: attempts(service.report()) >= 2, 20, "the report")
    report = service.report()
    # Whom the kernel takes is its choice: a worker of the neighbour, or one that is starting, may be among them.
    assert 2 <= attempts(report) <= container.kills(), report
    assert {one["cause"] for one in report} == {"out-of-memory"}
    assert sum(one["outcome"].startswith("the program's own error") for one in report) == 1, report
    assert ask(neighbour, "state") == before
    guilty.close()
    _, errors = guilty.finish()
    assert "for want of memory" in errors and str(container.limit_file) in errors


def test_what_a_gpu_has_in_a_container(container: ControlGroup, workplace: Workplace) -> None:
    container.limit(3 * GIB)
    service = workplace.service(2, (), container.before())
    assert [one["memory_total"] for one in service.status()["gpus"]] == [768 * MIB] * 2
    assert service.said() == ""
