"""The node's memory for copies: shared by all sessions, what one does not need is another's, and too little is loud."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from executor_rig import BASE, MIB, NOTICE, RANGE, Client, Shared, make_executor, stats, wait_for

from jitc.proxy.common.executor import Executor

pytestmark = pytest.mark.usefixtures("device")
LIMIT = 64 * MIB
#: Snapshot::kRemembered of snapshot.h.
REMEMBERED = 32


@pytest.fixture
def memories() -> Iterator[list[Shared]]:
    """Of two programs; the first one's has the board."""
    made = [Shared(snapshot=LIMIT), Shared(snapshot=LIMIT)]
    yield made
    for one in made:
        one.close()


class Program:
    """In a slot and a job of its own, with all of its memory in one block."""

    def __init__(self, memories: list[Shared], executors: list[Executor], slot: int) -> None:
        self.memory, self.board, self.slot, self.executors = memories[slot], memories[0], slot, executors
        self.client = self._open(rebuild=False)
        self.client.op("allocate", self.base, LIMIT)

    def _open(self, rebuild: bool) -> Client:
        self.executors.append(make_executor())
        request = self.memory.request(
            session=self.slot + 1, slot=self.slot, board=self.board, rebuild=rebuild, epoch=int(rebuild)
        )
        self.executors[-1].open_session(request)
        client = Client(self.executors[-1], session=self.slot + 1)
        client.attach()
        return client

    @property
    def base(self) -> int:
        return BASE + self.slot * RANGE

    def step(self, bytes: int, value: int) -> None:
        """With all live memory changed."""
        self.client.step_begin()
        self.client.op("fill", self.base, bytes, value, 1)
        self.client.boundary([(self.base, bytes, 0)])
        self.client.flush()
        wait_for(lambda: self.stats()["boundary"] == self.client.boundaries)

    def stats(self) -> dict[str, Any]:
        return stats(self.client.executor, self.slot + 1)

    def held(self) -> int:
        held = int(self.stats()["snapshot_held"])
        assert held >= self.memory.used("snapshot")  # nothing takes memory that is not counted
        return held

    def protected(self) -> bool:
        return bool(self.stats()["protected"])

    def told(self) -> list[str]:
        self.client.drain()
        return [one.payload.decode() for one in self.client.seen if one.kind == NOTICE and b"copies" in one.payload]


def test_two_programs_share_it(memories: list[Shared], executors: list[Executor]) -> None:
    one, other = (Program(memories, executors, slot) for slot in (0, 1))
    for value in range(1, 4):
        one.step(14 * MIB, value)
        other.step(14 * MIB, value)
        assert one.held() + other.held() <= LIMIT
    assert one.protected() and other.protected()


def test_what_is_kept_for_the_next_boundary_is_given_up_where_it_is_scarce(
    memories: list[Shared], executors: list[Executor]
) -> None:
    one, other = (Program(memories, executors, slot) for slot in (0, 1))
    for value in range(1, 5):
        one.step(24 * MIB, value)
    assert one.held() == 48 * MIB
    other.step(14 * MIB, 1)  # so that little is left: the next boundary of the first one ends with less
    one.step(24 * MIB, 9)
    one.step(MIB, 10)
    one.step(MIB, 11)
    assert one.held() <= 4 * MIB
    other.step(24 * MIB, 2)
    other.step(24 * MIB, 3)
    assert other.protected()
    assert other.told() == []


def test_what_boundaries_have_not_needed_for_long_goes_back(memories: list[Shared], executors: list[Executor]) -> None:
    program = Program(memories, executors, 0)
    for value in range(1, 4):
        program.step(24 * MIB, value)
    for value in range(4, 4 + REMEMBERED - 3):
        program.step(16 * MIB, value)
        assert program.held() == 48 * MIB, "a boundary like the large ones may come again"
    for value in range(64, 72):
        program.step(16 * MIB, value)
    assert program.held() == 32 * MIB
    for value in range(72, 76):  # what is left serves the boundaries that come
        program.step(16 * MIB, value)
    assert program.held() == 32 * MIB and program.protected()
    program.step(24 * MIB, 76)
    assert program.protected()


def test_too_little_is_said_with_what_would_do(memories: list[Shared], executors: list[Executor]) -> None:
    one, other = (Program(memories, executors, slot) for slot in (0, 1))
    one.step(40 * MIB, 1)
    other.step(30 * MIB, 1)
    assert not other.protected()
    (line,) = other.told()
    for part in (
        "64 MiB on this node",
        "40 MiB of it taken by other sessions",
        "30 MiB to copy",
        "--copies-limit 1GiB",
    ):
        assert part in line, line
    assert other.client.call("copy_d2h", other.base, 4).payload == bytes([1]) * 4  # the job goes on
    one.client.op("free", one.base)
    one.client.boundary([])
    one.client.drain()
    one.client.boundary([])
    one.client.drain()
    other.step(30 * MIB, 2)
    assert other.protected()


def test_the_next_worker_counts_what_it_finds(memories: list[Shared], executors: list[Executor]) -> None:
    one = Program(memories, executors, 0)
    for value in (1, 2):
        one.step(20 * MIB, value)
    held = one.held()
    assert held == memories[0].used("snapshot")
    executors.pop().close()
    one.client = one._open(rebuild=True)
    assert one.held() == held
