"""Jobs that do what docs/guarantees.md assumes nobody does: they are told, and come through a loss all the same."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from toolkit.job import ROOT
from toolkit.lockstep import Lockstep
from toolkit.service import Service
from toolkit.workplace import Workplace

PROGRAM = ROOT / "tests" / "end_to_end" / "assumption_steps.py"
STEPS, FORKS = 8, 2
#: In these steps a worker is lost: of this GPU, after so many ops.
LOSSES = {3: (1, 5), 5: (0, 20), 6: (1, 12)}
#: cudaErrorInitializationError.
INITIALIZATION_ERROR = "3"
Start = Callable[..., Lockstep]


@pytest.fixture(scope="module")
def service(shared_workplace: Workplace) -> Service:
    return shared_workplace.service(2)


class Ranks:
    """Both ranks of a job, in lockstep."""

    def __init__(self, start: Start, service: Service, folder: Path, way: str) -> None:
        folder.mkdir()
        self.service, self.programs = service, [start(service, PROGRAM, rank, folder, way) for rank in range(2)]

    def step(self, loss: tuple[int, int] | None = None) -> list[str]:
        """loss: as of losing()."""
        with self.service.losing(loss):
            for one in self.programs:
                one.tell()
            lines = [one.answer() for one in self.programs]
            assert all(lines), [one.finish() for one in self.programs]
        return lines

    def finish(self) -> list[str]:
        """What they wrote on standard error."""
        for one in self.programs:
            one.close()
        ended = [one.finish() for one in self.programs]
        assert [status for status, _ in ended] == [0, 0], ended
        return [errors for _, errors in ended]


@pytest.fixture(scope="module")
def calm(service: Service, shared_workplace: Workplace) -> Callable[[str], list[list[str]]]:
    """What a way gives without a loss."""
    known: dict[str, list[list[str]]] = {}

    def of(way: str) -> list[list[str]]:
        if way not in known:
            ranks = Ranks(Lockstep, service, shared_workplace.folder / f"calm-{way}", way)
            try:
                known[way] = [ranks.step() for _ in range(STEPS)]
                ranks.finish()
            finally:
                for one in ranks.programs:
                    one.kill()
        return known[way]

    return of


def recovered(service: Service, before: int) -> list[int]:
    """The boundaries that each recovery since went back to."""
    reports = service.report()[before:]
    assert [one["outcome"] for one in reports] == ["recovered"] * len(LOSSES), reports
    return [one["boundary"] for one in reports]


def test_no_boundary_is_ever_made(
    service: Service, start: Start, calm: Callable[[str], list[list[str]]], tmp_path: Path
) -> None:
    """All runs again from the start, each time, and comes out the same."""
    expected, before = calm("by-hand"), len(service.report())
    ranks = Ranks(start, service, tmp_path / "job", "by-hand")
    assert [ranks.step(LOSSES.get(number)) for number in range(STEPS)] == expected
    ranks.finish()
    assert recovered(service, before) == [0] * len(LOSSES)


def test_a_forked_child_uses_cuda(
    service: Service, start: Start, calm: Callable[[str], list[list[str]]], tmp_path: Path
) -> None:
    """It is refused; its parent goes on, and is recovered."""
    expected, before = calm("plain"), len(service.report())
    ranks = Ranks(start, service, tmp_path / "job", "forks")
    lines = []
    for number in range(STEPS):
        lines.append(ranks.step(LOSSES.get(number)))
        if number == FORKS:
            assert lines[-1] == [INITIALIZATION_ERROR] * 2
            lines[-1] = [one.answer() for one in ranks.programs]
    assert lines == expected
    ranks.finish()
    assert min(recovered(service, before)) > 0


def fill(fifo: Path) -> None:
    """Until there is no room in it."""
    writer = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, bytes(1024))
    os.close(writer)


@pytest.mark.parametrize("reader", ["gone", "standing still"])
def test_nobody_reads_what_the_service_says(
    workplace: Workplace, start: Start, calm: Callable[[str], list[list[str]]], tmp_path: Path, reader: str
) -> None:
    """As after `jitc-proxyd 2>&1 | head`, or where a collector of logs hangs: recoveries do not depend on that."""
    fifo = tmp_path / "stderr"
    os.mkfifo(fifo)
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, 4096)
    service = workplace.service(2, before=("sh", "-c", f'exec "$@" 2> {fifo}', "sh"))
    expected = calm("plain")
    if reader == "gone":
        os.close(reading)
    else:
        fill(fifo)
    ranks = Ranks(start, service, tmp_path / "job", "plain")
    assert [ranks.step(LOSSES.get(number)) for number in range(STEPS)] == expected
    ranks.finish()
    recovered(service, 0)
    if reader != "gone":
        os.close(reading)


def test_a_second_process_is_the_same_rank(
    service: Service, start: Start, calm: Callable[[str], list[list[str]]], tmp_path: Path
) -> None:
    """It is refused, by name; those that were there first go on, and are recovered."""
    expected, before = calm("plain"), len(service.report())
    ranks = Ranks(start, service, tmp_path / "job", "plain")
    lines = [ranks.step()]
    twin = start(service, PROGRAM, 1, tmp_path / "job", "plain")
    status, errors = twin.finish()
    assert status != 0 and "rank 1 of this communicator is another process already" in errors, errors
    lines += [ranks.step(LOSSES.get(number)) for number in range(1, STEPS)]
    assert lines == expected
    ranks.finish()
    assert min(recovered(service, before)) > 0
