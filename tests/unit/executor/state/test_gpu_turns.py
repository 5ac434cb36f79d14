"""Sessions that do not fit on one GPU together take turns at it (decision 67), in workers on one board."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from executor_rig import BASE, MIB, RANGE, Client, Shared, make_executor, stats, wait_for

from jitc.proxy.common.executor import Executor

LIMIT = 64 * MIB
LARGE = 48 * MIB  # one fits, two do not
BLOCK = 1 * MIB
OUT_OF_MEMORY = 2


class Sessions:
    """On one GPU; the second one is a guest there. Their number is also their slot, and what they fill memory with."""

    def __init__(self, executors: list[Executor], snapshot: int, guest: bool = True, gpu: int = 0) -> None:
        """gpu: of the second one."""
        self.memories = [Shared(snapshot=snapshot), Shared(snapshot=snapshot), Shared(snapshot=snapshot)]
        self.executors = executors
        self.clients: list[Client] = []
        self.open(guest=False)
        self.open(guest=guest, gpu=gpu)

    def open(self, guest: bool, gpu: int = 0) -> None:
        slot = len(self.clients)
        self.executors.append(make_executor(memory_limit=LIMIT, gpu=gpu))
        request = self.memories[slot].request(session=slot + 1, slot=slot, board=self.memories[0])
        self.executors[-1].open_session(request | {"guest": guest})
        client = Client(self.executors[-1], session=slot + 1, base=BASE + slot * RANGE)
        client.attach()
        self.clients.append(client)

    def allocate(self, slot: int, size: int = LARGE, at: int = 0) -> int:
        client = self.clients[slot]
        status = client.call("allocate", client.base + at, size).status
        if status == 0:
            client.op("fill", client.base + at, size, slot + 7, 1)
            client.drain()
        return status

    def holds(self, slot: int, size: int = LARGE) -> bool:
        client = self.clients[slot]
        parts = (client.call("copy_d2h", client.base + at, BLOCK).payload for at in range(0, size, 16 * MIB))
        return all(part == bytes([slot + 7]) * BLOCK for part in parts)

    def moved(self, slot: int) -> int:
        return int(stats(self.executors[slot], slot + 1)["turns"]["moved_out"])

    def out(self, slot: int) -> bool:
        return bool(stats(self.executors[slot], slot + 1)["turns"]["waits"])

    def close(self) -> None:
        for one in self.memories:
            one.close()


@pytest.fixture
def sessions(device: str, executors: list[Executor]) -> Iterator[Sessions]:
    made = Sessions(executors, snapshot=256 * MIB)
    yield made
    for number, executor in enumerate(executors, 1):
        executor.close_session(number)
    made.close()


def test_both_have_all_that_the_gpu_has(sessions: Sessions) -> None:
    assert sessions.allocate(0) == 0
    assert sessions.allocate(1) == 0
    assert sessions.out(0) and not sessions.out(1)
    for _ in range(3):
        assert sessions.holds(0) and sessions.out(1)
        assert sessions.holds(1) and sessions.out(0)
    assert sessions.moved(0) == 4


def test_what_fits_stays(sessions: Sessions) -> None:
    assert sessions.allocate(0, 24 * MIB) == sessions.allocate(1, 24 * MIB) == 0
    assert sessions.holds(0, 24 * MIB) and sessions.holds(1, 24 * MIB)
    assert sessions.moved(0) == sessions.moved(1) == 0


def test_all_at_once(sessions: Sessions) -> None:
    """Three, which never wait for each other: each gets on."""
    sessions.open(guest=True)
    assert [sessions.allocate(slot) for slot in range(3)] == [0, 0, 0]

    def work(slot: int) -> bool:
        return all(sessions.holds(slot) for _ in range(20))

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(work, range(3)))
    assert sum(sessions.out(slot) for slot in range(3)) == 2


def test_no_session_has_more_than_the_gpu(sessions: Sessions) -> None:
    assert sessions.allocate(0) == sessions.allocate(1) == 0
    assert sessions.allocate(0, 32 * MIB, LARGE) == OUT_OF_MEMORY
    assert sessions.allocate(0, 16 * MIB, LARGE) == 0
    assert sessions.holds(1) and sessions.holds(0)


def test_beside_each_other_again(sessions: Sessions) -> None:
    """A program gives memory back, so that both fit."""
    assert sessions.allocate(0) == sessions.allocate(1) == 0
    sessions.clients[1].op("free", sessions.clients[1].base)
    sessions.clients[1].op("boundary", 1, 0)
    sessions.clients[1].drain()
    assert sessions.allocate(1, 8 * MIB) == 0
    assert sessions.holds(0)
    wait_for(lambda: not sessions.out(1))
    moved = sessions.moved(1)
    for _ in range(3):
        assert sessions.holds(1, 8 * MIB) and sessions.holds(0)
    assert sessions.moved(1) == moved


def test_without_a_guest_there_are_no_turns(device: str, executors: list[Executor]) -> None:
    sessions = Sessions(executors, snapshot=256 * MIB, guest=False)
    assert sessions.allocate(0) == 0
    assert sessions.allocate(1) == OUT_OF_MEMORY
    assert sessions.holds(0)
    for number, executor in enumerate(executors, 1):
        executor.close_session(number)
    sessions.close()


def test_no_memory_for_what_is_moved_out(device: str, executors: list[Executor]) -> None:
    """Said as CUDA says it; who has the memory keeps it."""
    sessions = Sessions(executors, snapshot=8 * MIB)
    assert sessions.allocate(0) == 0
    assert sessions.allocate(1) == OUT_OF_MEMORY
    assert sessions.holds(0)
    assert sessions.allocate(1, 8 * MIB) == 0
    for number, executor in enumerate(executors, 1):
        executor.close_session(number)
    sessions.close()


def test_a_recovery_of_one_that_is_elsewhere(sessions: Sessions) -> None:
    """Its memory comes back as it was at the boundary."""
    assert sessions.allocate(0) == 0
    client = sessions.clients[0]
    client.boundary([(client.base, LARGE, 0)])
    client.drain()
    client.op("fill", client.base, LARGE, 99, 1)
    client.drain()
    assert sessions.allocate(1) == 0
    assert sessions.out(0)
    sessions.executors[0].command("Fence", {"session": 1, "epoch": 1})
    reply = sessions.executors[0].command("Rollback", {"session": 1, "epoch": 1, "boundary": 1})
    assert reply["complete"], reply
    assert sessions.out(1)
    assert sessions.holds(1)
    sessions.executors[0].command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
    client.drain()
    assert client.call("copy_d2h", client.base, 4).payload == bytes([99]) * 4
