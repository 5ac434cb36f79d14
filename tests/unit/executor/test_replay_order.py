"""Replay keeps the order that only the program's waiting made: results and progress that it had seen.

On the cuda device with the fake driver: a kernel that waits for a flag makes the first stream slow, so that a replay
that does not keep the order is practically always seen to be wrong; one that does is never.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from executor_rig import BASE, MIB, PROGRESS, Client, Control, Shared, hash_of, library
from toolkit.fakes import fake_library

from jitc.proxy.executor import Executor, Options

IMAGE = b"JITCFAKE 1\nkernel add_i64\nkernel wait_flag\n"
SLOW, QUICK, MODULE, ADD, WAIT = 11, 12, 21, 31, 32
NUMBER, COPY, FLAG = BASE, BASE + 64, BASE + 128


class Node:
    """One session; workers come and go."""

    def __init__(self, folder: Path) -> None:
        self.control, self.images = Control(), folder
        self.memory = Shared(journal=16 * MIB, snapshot=64 * MIB)
        self.executor = self.worker()
        self.executor.open_session(self.memory.request())
        self.client = Client(self.executor)
        self.client.attach()

    def worker(self) -> Executor:
        options: Options = {
            "device": "cuda", "memory_limit": 0, "threads": 1, "operators": "", "driver": str(fake_library("cuda")),
            "nccl": "", "cublas": "", "cublaslt": "", "ordinal": 0, "hang_seconds": 0.0,
            "images": str(self.images), "images_limit": 64 * MIB,
        }  # fmt: skip
        return Executor(library(), options, self.control)

    def another_worker(self) -> None:
        """Takes over at the newest boundary."""
        self.executor.close()
        self.executor = self.worker()
        self.executor.open_session(self.memory.request(rebuild=True, epoch=1))
        self.go_back()
        self.client.reconnect(self.executor)

    def go_back(self) -> None:
        self.executor.command("Fence", {"session": 1, "epoch": 1})
        assert self.executor.command("Rollback", {"session": 1, "boundary": 1})["complete"]
        self.executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})

    def close(self) -> None:
        self.executor.close()
        self.memory.close()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(tmp_path)
    yield made
    made.close()
    assert not made.control.faults


def launch(client: Client, kernel: int, *parameters: int, stream: int) -> int:
    buffer = struct.pack(f"<{len(parameters)}q", *parameters)
    return client.op("kernel_launch", kernel, 1, 1, 1, 1, 1, 1, 0, 0, len(buffer), payload=buffer, stream=stream)


def begin(client: Client) -> None:
    """Two streams, two kernels, all memory zero, boundary 1."""
    assert client.call("allocate", BASE, 2 * MIB).status == 0
    for stream in (SLOW, QUICK):
        client.op("stream_create", stream, 1, 0)
    client.op("fill", BASE, 4096, 0, 1, stream=QUICK)
    client.op("image_part", hash_of(IMAGE), len(IMAGE), 0, len(IMAGE), payload=IMAGE)
    assert client.call("module_load", MODULE, hash_of(IMAGE), len(IMAGE)).status == 0
    for handle, name in ((ADD, b"add_i64"), (WAIT, b"wait_flag")):
        assert client.call("function_get", MODULE, handle, len(name), payload=name).status == 0
    client.drain()
    client.step_begin()
    client.boundary([(BASE, 4096, 0)])
    client.drain()


def see_a_result(client: Client, last: int) -> None:
    assert client.call("stream_synchronize", stream=SLOW).status == 0


def see_progress(client: Client, last: int) -> None:
    """As a query does: no op says that the program knows."""
    client.flush()
    client.wait(lambda: any(one.kind == PROGRESS and one.sequence >= last for one in client.seen))


@pytest.mark.parametrize("see", [see_a_result, see_progress])
@pytest.mark.parametrize("recover", [Node.go_back, Node.another_worker])
def test_what_came_after_the_program_knew_comes_after_it_again(
    node: Node, see: Callable[[Client, int], None], recover: Callable[[Node], None]
) -> None:
    client = node.client
    begin(client)
    launch(client, WAIT, FLAG, 1, stream=SLOW)
    last = launch(client, ADD, NUMBER, 5, 1, stream=SLOW)
    client.op("fill", FLAG, 1, 1, 1, stream=QUICK)
    see(client, last)
    client.op("copy_d2d", COPY, NUMBER, 8, stream=QUICK)  # nothing on the device orders it after the kernel
    client.flush()
    client.call("stream_synchronize", stream=QUICK)
    recover(node)
    client.drain()
    reply = client.call("copy_d2h", COPY, 8, stream=QUICK)
    assert int.from_bytes(reply.payload, "little") == 5


def test_every_replay_waits_for_results_of_its_own(node: Node) -> None:
    client = node.client
    begin(client)
    for _ in range(3):
        launch(client, ADD, NUMBER, 1, 1, stream=SLOW)
        client.call("copy_d2h", NUMBER, 8, stream=SLOW)
    node.go_back()
    node.go_back()
    client.drain()
    assert int.from_bytes(client.call("copy_d2h", NUMBER, 8, stream=SLOW).payload, "little") == 3
