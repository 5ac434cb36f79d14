"""Bits that change where nobody looks: in the copies that a service keeps, and in a device's memory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from toolkit.job import Script
from toolkit.jobs import JOBS
from toolkit.lockstep import Lockstep
from toolkit.pace import PACED
from toolkit.peer_mode import PEERS, PacedJob
from toolkit.service import Service
from toolkit.waiting import until
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2, worker_pb2, worker_pb2_grpc

PROGRAM = Path(__file__).with_name("cuda_steps.py")
PAGE = 4096
Start = Callable[..., Lockstep]


def pieces(service: Service, name: str) -> list[Path]:
    """Shared memory of the service that is called so."""
    links = Path(f"/proc/{service.process.pid}/fd").iterdir()
    return [one for one in links if os.readlink(one).startswith(f"/memfd:jitc-{name}")]


def flip_one_bit_in_each_page(path: Path) -> int:
    """Of what has content; how many."""
    pages = 0
    with path.open("r+b", buffering=0) as memory:
        size, at = os.fstat(memory.fileno()).st_size, 0
        while at < size:
            try:
                at = os.lseek(memory.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            (byte,) = os.pread(memory.fileno(), 1, at + 99)
            os.pwrite(memory.fileno(), bytes([byte ^ 1]), at + 99)
            pages, at = pages + 1, at + PAGE
    return pages


def test_damaged_copies_are_not_restored(workplace: Workplace, start: Start) -> None:
    service = workplace.service(1)
    program = start(service, PROGRAM, 0)
    for _ in range(3):
        assert program.step()
    [snapshot] = pieces(service, "snapshot")
    assert flip_one_bit_in_each_page(snapshot) > 100
    service.inject(control_pb2.Fault(kind="kill-worker"), 0, wait=10)
    program.tell()
    assert program.answer() == "", "it went on with other content"
    status, said = program.finish()
    assert status != 0
    [recovery] = service.survived(1, "given up")
    boundary = recovery["boundary"]
    words = f"are held by no other rank and by no whole copy at boundary {boundary}; 1 kept copy is damaged: "
    assert recovery["outcome"].startswith("given up: 1 blocks (") and words in recovery["outcome"]
    assert words in said


def only_at_peers(service: Service, rank: int, running: PacedJob) -> tuple[int, Any]:
    """The worker's process of a rank, and of its blocks without a copy the largest one that steps write: one that
    nobody writes is not hashed again (docs/decisions.md, 72)."""
    sessions = [one for gpu in service.status()["gpus"] for one in gpu["sessions"]]
    pid: int = next(one["worker_pid"] for one in sessions if one["rank"] == rank)
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    with grpc.insecure_channel(f"unix:{words[words.index('--socket') + 1]}") as channel:
        stub = worker_pb2_grpc.WorkerStub(channel)
        [session] = json.loads(stub.Stats(worker_pb2.Empty(), timeout=10).json)["sessions"]
        request = worker_pb2.BoundaryTableRequest(session=session["session"])

        def bare() -> list[Any]:
            return [row for row in stub.BoundaryTable(request, timeout=10).rows if row.bytes and not row.copied]

        before = {row.ordinal: row.hash for row in until(lambda: bare() or None, 30, "a block without a copy")}
        running.go_to(running.granted + 1)
        written = [row for row in bare() if before.get(row.ordinal, row.hash) != row.hash]
        return pid, max(written, key=lambda row: row.bytes)


def flip_on_device(pid: int, address: int) -> None:
    memory = os.open(f"/proc/{pid}/mem", os.O_RDWR)
    (byte,) = os.pread(memory, 1, address)
    os.pwrite(memory, bytes([byte ^ 1]), address)
    os.close(memory)


@pytest.mark.slow
def test_replicas_that_stop_agreeing_in_a_training_job(workplace: Workplace) -> None:
    """One bit of rank 1's parameters, in a job that knows nothing of it."""
    service = workplace.service(2)
    script = Script(JOBS["gpt"].name, (*JOBS["gpt"].arguments, "--steps", "250"), around=PACED)
    running = PacedJob(workplace, script, service)
    running.until_settled(PEERS)
    running.go_to(running.granted + 2)  # the newest boundary lacks copies
    pid, row = only_at_peers(service, 1, running)
    flip_on_device(pid, row.address + 64 + 2)  # of a number, not its last bits: steps would round them away
    running.let_go()
    result = running.job.finish().successful()
    [found] = service.divergences()
    ordinals = {one["ordinal"] for one in found["blocks"]}
    assert row.ordinal in ordinals and found["outcome"] == "left as it is", found
    ranks = {one["rank"] for one in found["blocks"]}
    assert len(ranks) == 2 and all(rank in result.output for rank in ranks)
    assert f"replicas have stopped agreeing: at boundary {found['boundary']} " in result.output
