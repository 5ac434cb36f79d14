"""One GPU's memory, shared by the workers of several programs through the board."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from executor_rig import BASE, MIB, RANGE, Client, Shared, make_executor

from jitc.proxy.common.executor import Executor

PROGRAM = Path(os.environ.get("JITC_TEST_BUDGET") or Path(__file__).parents[4] / "build" / "tests" / "jitc_budget_test")
CHILD = Path(__file__).parents[1] / "budget_child.py"
LIMIT = 64 * MIB
OUT_OF_MEMORY = 2


def test_processes_that_race_for_memory() -> None:
    done = subprocess.run([PROGRAM], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout


@pytest.fixture
def memories(device: str) -> Iterator[list[Shared]]:
    """Of two programs on the device; the first one's has the board."""
    made = [Shared(), Shared()]
    yield made
    for one in made:
        one.close()


class Programs:
    """Two programs with a worker each; their number is also their slot."""

    def __init__(self, memories: list[Shared], executors: list[Executor], gpus: tuple[int, int] = (0, 0)) -> None:
        self.memories, self.executors, self.gpus = memories, executors, gpus
        self.clients = [self.start(program) for program in range(2)]

    def request(self, program: int, rebuild: bool = False) -> dict[str, object]:
        slot = {"session": program + 1, "slot": program, "epoch": int(rebuild)}
        return self.memories[program].request(rebuild=rebuild, board=self.memories[0], **slot)

    def start(self, program: int) -> Client:
        self.executors.append(make_executor(memory_limit=LIMIT, gpu=self.gpus[program]))
        self.executors[-1].open_session(self.request(program))
        client = Client(self.executors[-1], session=program + 1)
        client.attach()
        return client

    def allocate(self, program: int, size: int, at: int = 0) -> int:
        return self.clients[program].call("allocate", BASE + program * RANGE + at, size).status

    def free(self, program: int, at: int = 0) -> None:
        self.clients[program].op("free", BASE + program * RANGE + at)
        self.clients[program].drain()

    def info(self, program: int) -> tuple[int, int]:
        free, total = struct.unpack("<QQ", self.clients[program].call("memory_info").payload)
        return free, total


def test_the_limit_is_for_all_programs_together(memories: list[Shared], executors: list[Executor]) -> None:
    programs = Programs(memories, executors)
    assert programs.allocate(0, 48 * MIB) == 0
    assert programs.allocate(1, 32 * MIB) == OUT_OF_MEMORY
    assert programs.allocate(1, 16 * MIB) == 0
    assert programs.info(0) == programs.info(1) == (0, LIMIT)
    assert programs.allocate(0, 2 * MIB, 64 * MIB) == OUT_OF_MEMORY
    programs.free(0)
    assert programs.info(1) == (48 * MIB, LIMIT)
    assert programs.allocate(1, 32 * MIB, 64 * MIB) == 0
    executors[0].close_session(1)
    assert programs.info(1) == (16 * MIB, LIMIT)


def test_other_gpus_have_a_limit_of_their_own(memories: list[Shared], executors: list[Executor]) -> None:
    programs = Programs(memories, executors, gpus=(0, 1))
    assert programs.allocate(0, 48 * MIB) == 0
    assert programs.info(1) == (LIMIT, LIMIT)
    assert programs.allocate(1, 48 * MIB) == 0


def test_a_recovery_in_place_keeps_its_memory_from_others(memories: list[Shared], executors: list[Executor]) -> None:
    programs = Programs(memories, executors)
    session = {"session": 1, "epoch": 1}
    assert programs.allocate(0, 48 * MIB) == 0
    executors[0].command("Fence", session)
    assert executors[0].command("Rollback", session | {"boundary": 0})["complete"]  # the start: it has nothing
    assert programs.info(1) == (16 * MIB, LIMIT)
    assert programs.allocate(1, 32 * MIB) == OUT_OF_MEMORY
    executors[0].command("Resume", session | {"slots": [0]})
    programs.clients[0].drain()
    assert programs.allocate(0, 18 * MIB, 64 * MIB) == OUT_OF_MEMORY  # what it had, and no more
    programs.free(0)
    assert programs.allocate(1, 64 * MIB) == 0


def test_what_a_killed_worker_held_is_there_for_the_next_one(memories: list[Shared], executors: list[Executor]) -> None:
    programs = Programs(memories, executors)
    executors[0].close_session(1)
    command = [sys.executable, str(CHILD), json.dumps(programs.request(0)), str(LIMIT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.read(1) == b"."
        child.kill()
    assert programs.info(1) == (24 * MIB, LIMIT)
    assert programs.allocate(1, 32 * MIB) == OUT_OF_MEMORY

    session = {"session": 1, "epoch": 1}
    executors.append(make_executor(memory_limit=LIMIT))
    executors[-1].open_session(programs.request(0, rebuild=True))
    assert programs.info(1) == (24 * MIB, LIMIT)
    executors[-1].command("Fence", session)
    assert executors[-1].command("Rollback", session | {"boundary": 0})["complete"]
    assert programs.info(1) == (24 * MIB, LIMIT)
    executors[-1].command("Resume", session | {"slots": [0]})
    again = programs.clients[0] = Client(executors[-1], sequence=5, received=5)
    again.attach()
    again.drain()
    assert again.call("copy_d2h", BASE + 16 * MIB, 4).payload == b"\7" * 4
    assert programs.info(1) == (24 * MIB, LIMIT)
    programs.free(0, at=16 * MIB)
    assert programs.info(1) == (LIMIT, LIMIT)
