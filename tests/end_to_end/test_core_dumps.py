"""Workers that crash where core dumps are on: replaced at once, and users' memory in no dump."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dumped_steps import COUNT, PATTERN
from toolkit.job import ROOT
from toolkit.lockstep import Lockstep
from toolkit.service import Service
from toolkit.waiting import until
from toolkit.workplace import Workplace

PROGRAM = ROOT / "tests" / "end_to_end" / "dumped_steps.py"
ALLOWED = ("prlimit", "--core=unlimited")
#: Where the kernel puts a worker's dump with the pattern "core".
DUMP = Path("/core")
SUM = COUNT * sum(PATTERN)
Start = Callable[..., Lockstep]

pytestmark = pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY, reason="core dumps cannot be turned on here"
)


def dumps_are_files() -> bool:
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    with_number = Path("/proc/sys/kernel/core_uses_pid").read_text().strip() != "0"
    return pattern == "core" and not with_number and os.access("/", os.W_OK) and not DUMP.exists()


@pytest.fixture
def dump() -> Iterator[Path]:
    if not dumps_are_files():
        pytest.skip("the kernel does not put dumps where a test may look for them")
    yield DUMP
    DUMP.unlink(missing_ok=True)


def crash(service: Service, start: Start) -> None:
    """A program loses a worker to a signal that dumps cores, and must not notice."""
    program = start(service, PROGRAM)
    assert [program.step() for _ in range(3)] == [f"{SUM} {-2.0 * step}" for step in (1, 2, 3)]
    worker = service.worker_pid(0)
    assert worker is not None
    os.kill(worker, signal.SIGSEGV)
    assert program.step() == f"{SUM} -8.0"
    [found] = service.survived(1)
    assert found["cause"] == "worker-death", found  # the kernel said so, not the worker's silence
    program.close()
    assert program.finish()[0] == 0


def test_a_worker_leaves_no_dump(workplace: Workplace, start: Start) -> None:
    was_there = DUMP.exists()
    service = workplace.service(1, before=ALLOWED)
    crash(service, start)
    assert DUMP.exists() == was_there


def test_a_dump_that_is_wanted_is_small_and_has_no_memory_of_users(
    workplace: Workplace, start: Start, dump: Path
) -> None:
    crash(workplace.service(1, ("--core-limit", "1TiB"), before=ALLOWED), start)
    until(dump.exists, 10, "the dump is there")
    assert 0 < dump.stat().st_size < 4 << 30  # apparent; the session's range has 2 TiB
    with dump.open("rb") as core:
        before = b""
        while part := core.read(16 << 20):
            assert PATTERN not in before[-len(PATTERN) :] + part
            before = part


def test_what_is_users_is_left_out(workplace: Workplace, start: Start) -> None:
    """By what the kernel says of each mapping of a worker: large ones, and memory that it shares."""
    service = workplace.service(1)
    program = start(service, PROGRAM)
    assert program.step()
    left_out: dict[str, bool] = {}
    name = ""
    for line in Path(f"/proc/{service.worker_pid(0)}/smaps").read_text().splitlines():
        first, *rest = line.split()
        if not first.endswith(":"):
            begin, end = (int(one, 16) for one in first.split("-"))
            name = f"{first} {' '.join(rest[4:])}" if end - begin >= 1 << 30 or "/memfd:" in line else ""
        elif first == "VmFlags:" and name:
            left_out[name] = "dd" in rest
    assert len(left_out) >= 4, left_out  # the session's range, journal, copies, pinned memory
    assert [name for name, out in left_out.items() if not out] == []
    program.close()
    assert program.finish()[0] == 0
