"""The progress page: streams are published as they get on, in a way that outlives workers and trusts nobody."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from executor_rig import BASE, MIB, Client, Control, Shared, batch, make_executor, pack, wait_for
from toolkit.progress_page import Page, Place

from jitc.proxy.common.executor import Executor, ExecutorError

pytestmark = pytest.mark.usefixtures("device")
STREAM, OTHER, SAME_PLACE = 3 << 16 | 1 << 8, 4 << 16 | 1 << 8, 1025 << 16 | 1 << 8


class Program:
    def __init__(self) -> None:
        self.shared = Shared(pinned=MIB)
        self.page = Page(self.shared.fds["pinned"])
        self.page.announce()
        self.control = Control()
        self.places: dict[int, int] = {}  # of its streams, in the memory
        self.executors: list[Executor] = []
        self.start()
        self.client = Client(self.executors[-1])
        self.client.attach()
        assert self.client.call("allocate", BASE, 2 * MIB).status == 0
        for stream in (STREAM, OTHER, SAME_PLACE):
            self.client.op("stream_create", stream, 1, 0)

    def start(self, rebuild: bool = False) -> None:
        self.executors.append(make_executor(self.control))
        self.executors[-1].open_session(self.shared.request(rebuild=rebuild, epoch=int(rebuild)))

    def fill(self, stream: int) -> int:
        """Of memory that no other stream fills: nothing orders the two."""
        place = self.places.setdefault(stream, 8 * len(self.places))
        return self.client.op("fill", BASE + place, 8, 1, 1, stream=stream)

    def published(self, stream: int, sequence: int) -> None:
        """Nothing is read from the worker, so no message has told it."""
        self.client.flush()
        wait_for(lambda: self.page.executed(stream) >= sequence)
        assert self.page.executed(stream) == sequence

    def close(self) -> None:
        for one in self.executors:
            one.close()
        self.shared.close()


@pytest.fixture
def program() -> Iterator[Program]:
    made = Program()
    yield made
    made.close()
    assert not made.control.faults


def test_streams_are_published_as_they_get_on(program: Program) -> None:
    for _ in range(3):
        program.published(STREAM, program.fill(STREAM))
        program.published(OTHER, program.fill(OTHER))
    program.published(0, program.fill(0))
    assert program.page.sleepers() == 0


def test_an_op_that_is_refused_is_passed(program: Program) -> None:
    """It is on no stream, and a client that waits for all that it gave to the stream waits for it too."""
    refused = program.client.call("dnn_execute_try", 1, 0, 1, payload=bytes(32), stream=STREAM)
    assert refused.status != 0
    program.published(STREAM, program.client.sequence)


def test_sleepers_are_to_look_again(program: Program) -> None:
    program.published(STREAM, program.fill(STREAM))
    before = program.page.place(STREAM)
    program.published(STREAM, program.fill(STREAM))
    assert program.page.place(STREAM).version == before.version  # nobody sleeps
    program.page.write(Place(STREAM + 1, program.page.executed(STREAM), before.version, 1), STREAM)
    program.published(STREAM, program.fill(STREAM))
    wait_for(lambda: program.page.place(STREAM).version == before.version + 2)


def test_streams_that_share_a_place_take_it_from_each_other(program: Program) -> None:
    assert Page.at(STREAM) == Page.at(SAME_PLACE)
    program.published(STREAM, program.fill(STREAM))
    version = program.page.place(STREAM).version
    program.published(SAME_PLACE, program.fill(SAME_PLACE))
    assert program.page.executed(STREAM) == 0 and program.page.place(STREAM).version == version + 2
    program.published(STREAM, program.fill(STREAM))


def test_a_replay_takes_nothing_back(program: Program) -> None:
    """In place, and in a worker that knows nothing but the shared memory."""
    client = program.client
    client.drain()
    client.step_begin()
    client.boundary([(BASE, 8, 0)])
    client.drain()
    last = program.fill(STREAM)
    program.published(STREAM, last)
    for rebuild in (False, True):
        if rebuild:
            program.executors[-1].close()
            program.start(rebuild=True)
        executor = program.executors[-1]
        for name in ("Fence", "Rollback", "Resume"):
            executor.command(name, {"session": 1, "epoch": 1, "boundary": 1, "slots": [0]})
            assert program.page.executed(STREAM) >= last
        if rebuild:
            client.reconnect(executor)
        client.drain()
        assert program.page.executed(STREAM) >= last
    program.published(STREAM, program.fill(STREAM))


@pytest.mark.parametrize("version", [1, 0xFFFF_FFFF])
def test_a_place_that_a_worker_left_half_written_is_written_anew(program: Program, version: int) -> None:
    program.page.write(Place(STREAM + 1, 1 << 60, version, 0), STREAM)
    program.published(STREAM, program.fill(STREAM))
    assert program.page.place(STREAM).version % 2 == 0


def test_what_a_client_writes_there_harms_nobody(program: Program) -> None:
    memory = os.urandom(1 << 16)
    os.pwrite(program.shared.fds["pinned"], memory, 4096)
    program.page.announce()
    for stream in (STREAM, OTHER, 0):
        program.fill(stream)
    program.client.drain()


def test_the_memory_of_a_client_of_before_the_page_stays_its_own(program: Program) -> None:
    memory = bytes(range(256)) * 256  # the program's, from right behind the token on
    os.pwrite(program.shared.fds["pinned"], memory, 4096)
    for stream in (STREAM, OTHER, 0):
        program.fill(stream)
    program.client.drain()
    assert os.pread(program.shared.fds["pinned"], len(memory), 4096) == memory


def test_knowledge_that_cannot_be_is_passed_over(program: Program) -> None:
    """Of a stream that is not there, of an op that was never given: no wait, and later ones are served."""
    client = program.client
    for stream, until in ((STREAM, 1 << 60), (77 << 16, 5), (0, (1 << 64) - 1), (1 << 63, 0)):
        client.op("known", stream, until)
        program.fill(STREAM)
    client.drain()
    bad = pack("known", client.sequence + 1, STREAM, 1, payload=b"12345678")
    with pytest.raises(ExecutorError):
        program.executors[-1].submit(1, batch(bad))
    client.drain()
