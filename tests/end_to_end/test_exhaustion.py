"""A program that takes very much of one kind: it works, or gets CUDA's own error; others on the GPU do not notice."""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from toolkit.client import ACK, ALLOCATE, COPY_D2H, COPY_H2D, RESULT, WAIT, OpStream, attach, detach, op
from toolkit.leaks import marked_processes
from toolkit.lockstep import Lockstep
from toolkit.service import Service
from toolkit.waiting import until
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

PROGRAM = Path(__file__).with_name("exhausting.py")
KILL = control_pb2.Fault(kind="kill-worker")
OUT_OF_MEMORY = "2"
MIB = 1 << 20
Start = Callable[..., Lockstep]


def tell(program: Lockstep, what: str) -> str:
    program.tell(what)
    return program.answer()


def numbers(*ranges: range) -> str:
    """The hash that the program prints of its words."""
    return hashlib.sha256(b"".join(struct.pack("<I", number) for one in ranges for number in one)).hexdigest()


def workers(workplace: Workplace) -> list[Path]:
    """Folders in /proc of all worker processes."""
    return [Path(f"/proc/{pid}") for pid, command in marked_processes(workplace.mark).items() if ".worker" in command]


def modest(workplace: Workplace) -> bool:
    """No worker has many threads or mappings."""
    for worker in workers(workplace):
        assert len(os.listdir(worker / "task")) < 300
        assert len((worker / "maps").read_text().splitlines()) < 5000
    return True


EXPECTED = {
    "allocations": (65000, numbers(range(65000))),
    "streams": (3000, numbers(range(3000), range(1, 3001))),
    "copies": (300, numbers(range(300))),
}


@pytest.mark.parametrize("kind", EXPECTED)
@pytest.mark.sampled
def test_very_many(workplace: Workplace, start: Start, kind: str) -> None:
    """With another program before it and one after it, and its worker killed."""
    count, content = EXPECTED[kind]
    service = workplace.service(1)
    first = start(service, PROGRAM, "allocations", 10)
    assert tell(first, "make") == "10"
    greedy = start(service, PROGRAM, kind, count)
    assert tell(greedy, "make") == str(count)
    assert modest(workplace)
    second = start(service, PROGRAM, "streams", 10)
    assert tell(second, "make") == "10"
    service.inject(KILL, 0)
    assert tell(greedy, "read") == content
    assert modest(workplace)
    assert tell(greedy, "over") == OUT_OF_MEMORY
    assert [tell(first, "read"), tell(second, "read")] == [numbers(range(10)), numbers(range(10), range(1, 11))]
    assert [tell(one, "free") for one in (first, greedy, second)][-1] == "0 bytes used"
    assert [one.finish()[0] for one in (first, greedy, second)] == [0, 0, 0]
    assert all(one["outcome"] == "recovered" for one in service.survived(3))  # one of each program


def test_memory_of_a_program_that_is_given_up(workplace: Workplace, start: Start) -> None:
    """It is free for others, although the program has not ended."""
    service = workplace.service(1)
    guilty = start(service, PROGRAM, "allocations", 10)
    assert tell(guilty, "make") == "10"
    other = start(service, PROGRAM, "allocations", 10)
    assert tell(other, "make") == "10"
    service.kill_until_given_up(guilty.process.pid)
    tell(other, "free")
    until(lambda: tell(other, "used") == "0 bytes used", 30, "the memory is free")


READS = 200


def private_bytes(workplace: Workplace) -> int:
    """Memory that a worker has for itself; of the one that has most."""
    found = [re.search(r"RssAnon:\s+(\d+) kB", (worker / "status").read_text()) for worker in workers(workplace)]
    return max(int(one[1]) << 10 for one in found if one)


def journal_bytes(service: Service) -> int:
    sessions = [session for gpu in service.status()["gpus"] for session in gpu["sessions"]]
    return max((int(session["journal_bytes"]) for session in sessions), default=0)


def ask(stream: OpStream, base: int) -> None:
    """Reads of one MiB, each of other content."""
    sequence = 1
    stream.send(op(ALLOCATE, sequence, struct.pack("<QQ", base, 2 * MIB), WAIT))
    for number in range(READS):
        word = struct.pack("<Q", number)
        stream.send(
            op(COPY_H2D, sequence + 1, struct.pack("<QQ", base, len(word)) + word)
            + op(COPY_D2H, sequence + 2, struct.pack("<QQI", base, MIB, 0), WAIT)
        )
        sequence += 2


def test_results_that_nobody_reads(workplace: Workplace) -> None:
    """They wait where they cost no memory, outlive the worker, and are all there when they are read."""
    service = workplace.service(1)
    mine, other = attach(service.socket), attach(service.socket)
    before = private_bytes(workplace)
    with OpStream(mine) as silent:
        ask(silent, mine.address_base)
        until(lambda: journal_bytes(service) > 30 * MIB, 60, "results wait")
        with OpStream(other) as bystander:
            bystander.send(op(ALLOCATE, 1, struct.pack("<QQ", other.address_base, MIB), WAIT))
            assert bystander.receive(RESULT, 1).status == 0
        assert private_bytes(workplace) - before < 120 * MIB
    service.inject(KILL, 0)
    service.survived(2)
    again = attach(service.socket, token=mine.token)
    with OpStream(again) as late:
        acknowledged = late.receive(ACK).sequence
        assert acknowledged > 60
        for number in range((acknowledged - 1) // 2):
            result = late.receive(RESULT, 3 + 2 * number)
            assert (result.status, len(result.payload)) == (0, MIB)
            assert result.payload[:8] == struct.pack("<Q", number)
            if number % 20 == 0:
                assert private_bytes(workplace) - before < 120 * MIB
    for session in (mine, other):
        detach(service.socket, session.token)


def test_a_program_that_never_reads_can_be_ended(workplace: Workplace) -> None:
    service = workplace.service(1)
    mine = attach(service.socket)
    with OpStream(mine) as silent:
        ask(silent, mine.address_base)
        until(lambda: journal_bytes(service) > 30 * MIB, 60, "results wait")
        detach(service.socket, mine.token)
        until(lambda: not service.status()["gpus"][0]["sessions"], 10, "the session is closed")
