"""Pinned memory that program and worker share: copies name it, kernels reach it, a fault does not show in it."""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Iterator

import pytest
from content_hash import content_hash
from executor_rig import (
    BASE,
    MIB,
    PINNED,
    Client,
    Control,
    Shared,
    batch,
    hash_of,
    make_executor,
    pack,
    sealed,
    stats,
    wait_for,
)  # fmt: skip
from toolkit.progress_page import RESERVED

from jitc.proxy.common.executor import Executor, ExecutorError

pytestmark = pytest.mark.usefixtures("device")
SIZE = 8 * MIB
AT = PINNED + RESERVED


class Program:
    """A training process with its view of the pinned memory."""

    def __init__(self) -> None:
        self.shared = Shared(pinned=SIZE)
        self.memory = mmap.mmap(self.shared.fds["pinned"], SIZE)
        self.control = Control()
        self.executors = [make_executor(self.control)]
        self.executor.open_session(self.shared.request())
        self.client = Client(self.executor)
        self.client.attach()
        self.client.call("allocate", BASE, 4 * MIB)

    @property
    def executor(self) -> Executor:
        return self.executors[-1]

    def write(self, data: bytes, at: int = AT) -> None:
        self.memory[at - PINNED : at - PINNED + len(data)] = data

    def read(self, size: int, at: int = AT) -> bytes:
        return self.memory[at - PINNED : at - PINNED + size]

    def content(self, size: int, at: int = BASE) -> bytes:
        return self.client.call("copy_d2h", at, size).payload

    def sent(self) -> None:
        """Until the worker has everything, so that the program may use the memory again."""
        self.client.flush()
        self.client.wait(lambda: self.client.acked == self.client.sequence)

    def again(self, boundary: int, rebuild: bool, blocks: list[dict[str, object]] | None = None) -> None:
        """Back to the boundary: in place, or in a worker that knows nothing but the shared memory."""
        if rebuild:
            self.executor.close()
            self.executors.append(make_executor(self.control))
            self.executor.open_session(self.shared.request(rebuild=True, epoch=1))
            self.client.reconnect(self.executor)
        self.executor.command("Fence", {"session": 1, "epoch": 1})
        reply = self.executor.command("Rollback", {"session": 1, "epoch": 1, "boundary": boundary})
        assert reply["complete"], reply
        if blocks:
            self.executor.command("Import", {"session": 1, "path": self.shared.path("pinned"), "blocks": blocks})
        self.executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})

    def close(self) -> None:
        for one in self.executors:
            one.close()
        self.memory.close()
        self.shared.close()


@pytest.fixture
def program() -> Iterator[Program]:
    made = Program()
    yield made
    made.close()


@pytest.mark.parametrize("size", [1, 5, 4096, MIB - 3, MIB])
def test_a_copy_takes_the_bytes_when_it_is_acknowledged(program: Program, size: int) -> None:
    data = bytes(i * 7 % 251 for i in range(size))
    program.write(data)
    program.client.op("copy_h2d_pinned", BASE + 3, AT, size)
    program.sent()
    program.write(b"\xee" * size)
    assert program.content(size, BASE + 3) == data


@pytest.mark.parametrize("rebuild", [False, True])
def test_replay_has_the_bytes_that_the_copy_had(program: Program, rebuild: bool) -> None:
    program.write(b"before the fault")
    program.client.op("copy_h2d_pinned", BASE, AT, 16)
    program.sent()
    program.client.drain()
    program.write(b"later, something")  # the copy is done: the program may
    program.again(0, rebuild)
    assert program.content(16) == b"before the fault"


def test_a_copy_that_was_not_acknowledged_is_sent_again(program: Program) -> None:
    """The worker dies before it has the op: the program still waits for it, so the bytes are there."""
    program.client.drain()
    program.write(b"still here")
    program.client.op("copy_h2d_pinned", BASE, AT, 10)
    program.client.queued.clear()  # lost on the way
    program.again(0, rebuild=True)
    program.client.queued = [program.client.sequence]
    assert program.content(10) == b"still here"


def test_results_lie_in_the_memory_and_are_told_by_their_hash(program: Program) -> None:
    program.client.op("copy_h2d", BASE, 11, payload=b"hello there")
    result = program.client.call("copy_d2h_pinned", BASE, AT, 11)
    assert (result.status, result.payload) == (0, hash_of(b"hello there"))
    assert program.read(12) == b"hello there\0"


@pytest.mark.parametrize("rebuild", [False, True])
def test_a_result_is_not_delivered_twice(program: Program, rebuild: bool) -> None:
    program.client.op("copy_h2d", BASE, 4, payload=b"loss")
    program.client.call("copy_d2h_pinned", BASE, AT, 4)
    program.write(b"mine")  # the program has its result and uses the memory for something else
    program.again(0, rebuild)
    program.client.drain()
    assert program.read(4) == b"mine"
    assert not program.control.faults
    assert program.content(4) == b"loss"


def test_a_result_that_was_not_there_comes_from_the_next_worker(program: Program) -> None:
    program.client.drain()
    program.client.op("copy_h2d", BASE, 4, payload=b"loss")
    wanted = program.client.op("copy_d2h_pinned", BASE, AT, 4)
    program.client.queued.clear()
    program.again(0, rebuild=True)
    program.client.queued = [wanted - 1, wanted]
    program.client.flush()
    program.client.wait(lambda: wanted in program.client.results)
    assert program.read(4) == b"loss"


def test_a_result_that_differs_in_replay_is_noticed(program: Program) -> None:
    program.client.op("copy_h2d", BASE, 4, payload=b"same")
    program.client.step_begin()
    program.client.boundary([(BASE, 4096, 0)])
    program.client.call("copy_d2h_pinned", BASE, AT, 4)
    program.write(b"else", AT + MIB)
    other = {"address": BASE, "bytes": 4, "offset": AT + MIB - PINNED, "hash": content_hash(b"else").hex()}
    program.again(1, rebuild=False, blocks=[other])
    wait_for(lambda: program.control.faults)
    assert program.control.faults[0][3] == "replay-mismatch"
    assert "copy_d2h_pinned" in program.control.faults[0][4]
    assert program.read(4) == b"same"


@pytest.mark.parametrize("name", ["copy_h2d_pinned", "copy_d2h_pinned"])
@pytest.mark.parametrize(
    ("address", "size", "text"),
    [
        (PINNED - 1, 2, "not inside"),
        (PINNED + SIZE - 1, 2, "not inside"),
        (PINNED + SIZE, 1, "not inside"),
        (0, 8, "not inside"),
        (2**64 - 4, 8, "not inside"),
        (BASE, 8, "not inside"),
        (AT, MIB + 1, "more than 1 MiB"),
        (AT, 2**64 - 1, "more than 1 MiB"),
    ],
)
def test_what_is_not_pinned_memory_is_refused(program: Program, name: str, address: int, size: int, text: str) -> None:
    program.client.drain()
    good = pack("fill", program.client.sequence + 1, BASE, 8, 1, 1)
    bad = pack(name, program.client.sequence + 2, BASE, address, size)
    with pytest.raises(ExecutorError, match=text):
        program.executor.submit(1, batch(good + bad))
    assert stats(program.executor)["received"] == program.client.sequence  # nothing of it is taken
    program.client.drain()


def test_a_session_without_pinned_memory_refuses_such_copies() -> None:
    shared, executor = Shared(), make_executor()
    try:
        executor.open_session(shared.request())
        executor.attach(1, 0)
        with pytest.raises(ExecutorError, match="not inside the session's pinned memory"):
            executor.submit(1, batch(pack("copy_h2d_pinned", 1, BASE, AT, 8)))
    finally:
        executor.close()
        shared.close()


@pytest.mark.parametrize(
    ("size", "seals", "text"),
    [
        (SIZE, 0, "not sealed"),
        (SIZE, fcntl.F_SEAL_GROW, "not sealed"),
        (SIZE - 4096, fcntl.F_SEAL_SHRINK, "too short"),
        (0, fcntl.F_SEAL_SHRINK, "too short"),
    ],
)
def test_memory_that_a_program_could_take_away_is_refused(size: int, seals: int, text: str) -> None:
    shared, executor = Shared(), make_executor()
    fd = sealed(size, seals)
    request = shared.request() | {"pinned_path": f"/proc/{os.getpid()}/fd/{fd}", "pinned_bytes": SIZE}
    try:
        with pytest.raises(ExecutorError, match=text):
            executor.open_session(request)
        with pytest.raises(ExecutorError, match="cannot open the pinned memory"):
            executor.open_session(request | {"pinned_path": "/nowhere"})
        with pytest.raises(ExecutorError, match="no range of pages"):
            executor.open_session(request | {"pinned_base": PINNED + 1})
        executor.open_session(shared.request())  # the worker is as it was
    finally:
        executor.close()
        shared.close()
        os.close(fd)


def test_ops_reach_registered_memory_where_the_program_has_it(device: str, program: Program) -> None:
    if device == "cuda":
        pytest.skip("the fake driver lets only kernels reach it (tests/unit/device/cuda)")
    assert program.client.call("host_register", AT, 8192).status == 0
    program.client.op("fill", AT + 100, 3, ord("x"), 1)
    program.client.drain()
    assert program.read(5, AT + 99) == b"\0xxx\0"
    assert program.client.call("host_unregister", AT).status == 0
    program.client.op("fill", AT + 100, 3, ord("y"), 1)
    program.client.flush()
    wait_for(lambda: program.control.faults)
    assert program.control.faults[0][2] == 700


@pytest.mark.parametrize(
    ("address", "size"), [(AT + 1, 4096), (AT, 100), (AT, 0), (PINNED + SIZE, 4096), (BASE, 4096), (AT, SIZE)]
)
def test_only_pages_of_pinned_memory_can_be_registered(program: Program, address: int, size: int) -> None:
    assert program.client.call("host_register", AT + 4096, 4096).status == 0
    assert program.client.call("host_register", address, size).status != 0
    assert program.client.call("host_register", AT, 8192).status != 0  # a part of it is registered already
    assert program.client.call("host_unregister", AT).status != 0
    program.client.drain()
    assert not program.control.faults


@pytest.mark.parametrize("boundary", [0, 1])
def test_the_next_worker_has_registered_it_too(device: str, program: Program, boundary: int) -> None:
    program.client.call("host_register", AT, 4096)
    program.client.call("host_register", AT + 8192, 4096)
    for step in range(boundary):
        program.client.step_begin()
        program.client.boundary([(BASE, MIB, step)])
    program.client.call("host_unregister", AT + 8192)
    program.client.drain()
    program.again(boundary, rebuild=True)
    if device == "software":
        program.client.op("fill", AT, 4, ord("x"), 1)
        program.client.drain()
        assert program.read(5) == b"xxxx\0"
    assert program.client.call("host_register", AT + 8192, 4096).status == 0  # its end was replayed
    assert program.client.call("host_register", AT, 4096).status != 0
