"""Every way to memory: state that lies there comes back, whoever has allocated it, or the way is refused.

Each job loses workers in all phases, before and after the service has found out what replicas share, and must give
what it gives without a loss. Of each recovery at least the state of the rank that was lost must have come back.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from toolkit.job import PRELOAD, ROOT
from toolkit.lockstep import Lockstep
from toolkit.peer_mode import COPIES, STEP_SECONDS
from toolkit.service import Service, kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

HERE = ROOT / "tests" / "end_to_end"
PROGRAM = HERE / "memory_steps.py"
STEPS = 14
#: After this boundary, in this phase, the worker of this GPU.
LOSSES = ((1, "forward", 0), (3, "backward", 1), (6, "optimizer", 0), (9, "backward", 1), (11, "optimizer", 1))
#: Weights and AdamW's moments.
STATE_BYTES = 3 * 4 * 2 * 300 * 300
Start = Callable[..., Lockstep]

WAYS = ("caching", "off", "off-and-on", "uncached", "pluggable", "pool", "parts-of-one", "two-pools", "nccl",
        "malloc", "pitch", "driver", "ordered", "small", "expandable", "async-backend", "graph", "pinned",
        "pinned-kernel")  # fmt: skip
#: They load PyTorch anew, or have a run of their own without a loss.
SLOW = ("uncached", "async-backend", "graph")
#: No allocator of PyTorch says what their blocks are, so none is compared with another rank's.
UNKNOWN = ("off", "off-and-on", "uncached", "pluggable", "async-backend")
#: Their ledgers are other ones.
OTHER = ("small", "graph")


@dataclass
class Jobs:
    """Jobs of two ranks on one service."""

    service: Service
    allocators: Path

    def run(self, start: Start, folder: Path, way: str) -> list[list[str]]:
        """What both ranks say after each step."""
        folder.mkdir()
        (folder / "allocators.so").symlink_to(self.allocators)
        said = len(self.service.said())
        ranks = [start(self.service, PROGRAM, rank, folder, way) for rank in range(2)]
        lines = []
        for step in range(1, STEPS + 1):
            for one in ranks:
                one.tell()
            lines.append([one.answer() for one in ranks])
            assert all(lines[-1]), "\n".join(one.finish()[1] for one in ranks)
            until(lambda step=step: self._compared(step, said), STEP_SECONDS, "the service has looked at the job")
            until(self._proven, STEP_SECONDS, "recoveries are compared at the next boundary but one at the latest")
        for one in ranks:
            one.close()
        assert [one.finish()[0] for one in ranks] == [0, 0]
        return lines

    def _compared(self, step: int, said: int) -> bool:
        """Whether both have this boundary, and the service has looked at each one's newest, or looks no more."""
        sessions = [one for gpu in self.service.status()["gpus"] for one in gpu["sessions"]]
        if any(one["boundary"] < step for one in sessions):
            return False
        return COPIES in self.service.said()[said:] or all(one["compared"] >= one["boundary"] for one in sessions)

    def _proven(self) -> bool:
        least = min(one["boundary"] for gpu in self.service.status()["gpus"] for one in gpu["sessions"])
        before = [one for one in self.service.report() if one["boundary"] < least - 1]
        return all(one["proof"]["state"] != "pending" for one in before)


@pytest.fixture(scope="module")
def jobs(shared_workplace: Workplace, tmp_path_factory: pytest.TempPathFactory) -> Jobs:
    library = tmp_path_factory.mktemp("allocators") / "allocators.so"
    source = HERE / "own_allocators.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source)], check=True, timeout=60)
    return Jobs(shared_workplace.service(2), library)


@pytest.fixture(scope="module")
def expected(shared_workplace: Workplace, jobs: Jobs) -> Iterator[Callable[[str], list[list[str]]]]:
    """Without a loss; nearly all ways give the same."""
    programs: list[Lockstep] = []
    known: dict[str, list[list[str]]] = {}

    def start(*arguments: Any) -> Lockstep:
        programs.append(Lockstep(*arguments))
        return programs[-1]

    def of(way: str) -> list[list[str]]:
        key = way if way in OTHER else WAYS[0]
        if key not in known:
            known[key] = jobs.run(start, shared_workplace.folder / f"calm-{key}", key)
        return known[key]

    try:
        yield of
    finally:
        for one in programs:
            one.kill()


@pytest.mark.sampled
@pytest.mark.parametrize("way", [pytest.param(one, marks=pytest.mark.slow if one in SLOW else []) for one in WAYS])
def test_state_comes_back_from_wherever_it_lies(
    way: str, jobs: Jobs, expected: Callable[[str], list[list[str]]], start: Start, tmp_path: Path
) -> None:
    wanted = expected(way)
    before = len(jobs.service.report())
    for boundary, phase, gpu in LOSSES:
        jobs.service.inject(kill_at(boundary, phase), gpu)
    assert jobs.run(start, tmp_path / "job", way) == wanted
    until(lambda: len(jobs.service.report()) >= before + len(LOSSES), 30, "all losses are told of")
    recoveries = jobs.service.report()[before:]
    assert {one["outcome"] for one in recoveries} == {"recovered"}, recoveries
    for one in recoveries[recoveries[0]["boundary"] == 0 :]:  # the first loss may come before the other has a boundary
        assert one["bytes_restored"] + sum(one["bytes_from_peers"].values()) >= STATE_BYTES, one
    proofs = {one["boundary"]: one["proof"] for one in recoveries}
    for boundary in (3, 6, 9):  # at the first one nothing is known of replicas; the program may end before the last
        found = proofs[boundary]
        assert (found["state"], found["blocks"] > 0) == (
            ("nothing to compare", False) if way in UNKNOWN else ("proven", True)
        )


#: What is asked for; the answer must be an error, with a line that has the name.
REFUSED = (
    "cudaMallocManaged(byref(address), c_size_t(4096), 1)",
    "cudaMallocFromPoolAsync(byref(address), c_size_t(4096), c_uint64(1), c_uint64(0))",
    "cudaMemPoolCreate(byref(address), (c_uint64 * 12)())",
    "cudaIpcGetMemHandle((c_uint64 * 8)(), address)",
    "cudaIpcOpenMemHandle(byref(address), (c_uint64 * 8)(), 1)",
    "cuMemAllocManaged(byref(address), c_size_t(4096), 1)",
    "cuMemExportToShareableHandle(byref(address), c_uint64(1), 1, c_uint64(0))",
    "cuMemImportFromShareableHandle(byref(address), c_uint64(1), 1)",
    "cudaMalloc3D((c_uint64 * 4)(), c_size_t(64), c_size_t(8), c_size_t(8))",
    "cudaMallocArray(byref(address), (c_uint64 * 3)(), c_size_t(64), c_size_t(8), 0)",
    "cudaMemPoolImportPointer(byref(address), c_uint64(1), (c_uint64 * 8)())",
    "cudaImportExternalMemory(byref(address), (c_uint64 * 16)())",
    "cudaGraphAddMemAllocNode(byref(address), c_uint64(1), None, c_size_t(0), (c_uint64 * 16)())",
    "cuMulticastCreate(byref(address), (c_uint64 * 8)())",
    "ncclCommWindowRegister(c_uint64(1), address, c_size_t(4096), byref(address), 0)",
)


def test_other_ways_are_refused(jobs: Jobs) -> None:
    """Each call by itself, as a program makes it; it is named on standard error."""
    lines = [f"status = cuda.{call}; print({call.partition('(')[0]!r}, status)" for call in REFUSED]
    program = "\n".join(
        ["from ctypes import CDLL, byref, c_size_t, c_uint64", "cuda, address = CDLL(None), c_uint64()", *lines]
    )
    environment = jobs.service.env | {"LD_PRELOAD": str(PRELOAD)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=environment)
    answers = dict(line.split() for line in done.stdout.splitlines())
    assert len(answers) == len(REFUSED) and "0" not in answers.values(), answers
    assert [name for name in answers if name not in done.stderr] == []
