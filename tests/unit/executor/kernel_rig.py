"""A session on the cuda device with the fake driver, whose workers come and go, and its kernels."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from executor_rig import BASE, MIB, Client, Completion, Control, Shared, hash_of, library
from toolkit.fakes import fake_library

from jitc.proxy.common.executor import Executor

GRAPH, EXECUTABLE = 41, 51
IMAGE = b"JITCFAKE 1\nkernel add_i64\nkernel bump_global\nkernel wait_flag\nkernel deep\nglobal counter 8\n"
STREAM, SIDE, MODULE, ADD, BUMP, WAIT, DEEP = 11, 12, 21, 31, 32, 33, 34


class Node:
    """The folder of images and the memory of one session; workers come and go."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.control = folder, Control()
        self.memory = Shared(journal=16 * MIB, snapshot=64 * MIB, pinned=MIB)
        self.executor = self.worker()
        self.executor.open_session(self.memory.request())
        self.client = Client(self.executor)
        self.client.attach()

    def worker(self) -> Executor:
        options: Any = {
            "device": "cuda", "memory_limit": 0, "threads": 1,
            "libraries": {
                "driver": str(fake_library("cuda")), "nvrtc": str(fake_library("nvrtc")),
                "cudnn": str(fake_library("cudnn")),
            },
            "ordinal": 0, "images": str(self.folder), "options": {"images_limit": str(64 * MIB)}, "poison": True,
        }  # fmt: skip
        return Executor(library(), options, self.control)

    def go_back(self, boundary: int) -> None:
        self.executor.command("Fence", {"session": 1, "epoch": 1})
        reply = self.executor.command("Rollback", {"session": 1, "boundary": boundary})
        assert reply["complete"], reply
        self.executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})

    def rebuild(self, boundary: int) -> None:
        """Another worker takes over."""
        self.executor.close()
        self.executor = self.worker()
        self.executor.open_session(self.memory.request(rebuild=True, epoch=1))
        reply = self.executor.command("Rollback", {"session": 1, "boundary": boundary})
        assert reply["complete"], reply
        self.executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
        self.client.reconnect(self.executor)

    def close(self) -> None:
        self.executor.close()
        self.memory.close()


def upload(client: Client, data: bytes) -> None:
    client.op("image_part", hash_of(data), len(data), 0, len(data), payload=data)


def load(client: Client, module: int = MODULE, data: bytes = IMAGE) -> Completion:
    upload(client, data)
    return client.call("module_load", module, hash_of(data), len(data))


def function(client: Client, handle: int, name: str, module: int = MODULE) -> Completion:
    return client.call("function_get", module, handle, len(name), payload=name.encode())


def variable(client: Client, name: str, module: int = MODULE) -> Completion:
    return client.call("variable_get", module, len(name), payload=name.encode())


def alias(client: Client, name: str, address: int, module: int = MODULE) -> Completion:
    """The variable has that alias; the answer is its size."""
    return client.call("variable_alias", module, address, len(name), payload=name.encode())


def launch(client: Client, handle: int, *parameters: int, stream: int = STREAM) -> int:
    buffer = struct.pack(f"<{len(parameters)}q", *parameters)
    return client.op("kernel_launch", handle, 1, 1, 1, 1, 1, 1, 0, 0, len(buffer), payload=buffer, stream=stream)


def add(client: Client, value: int, address: int = BASE, stream: int = STREAM) -> int:
    return launch(client, ADD, address, value, 1, stream=stream)


def number(client: Client, address: int = BASE, stream: int = STREAM) -> int:
    reply = client.call("copy_d2h", address, 8, stream=stream)
    assert reply.status == 0, reply
    return int.from_bytes(reply.payload, "little")


def begin(client: Client) -> None:
    assert client.call("allocate", BASE, 2 * MIB).status == 0
    client.op("stream_create", STREAM, 1, 0)
    client.op("stream_create", SIDE, 1, 0)
    client.op("fill", BASE, 4096, 0, 1, stream=STREAM)
    assert load(client).status == 0
    assert function(client, ADD, "add_i64").status == 0


def boundary(client: Client) -> None:
    client.step_begin()
    client.boundary([(BASE, 4096, 0)])
    client.drain()


def capture(client: Client, graph: int = GRAPH) -> None:
    """Three ops on two streams."""
    client.op("event_create", 61, 2)
    client.op("event_create", 62, 2)
    client.op("capture_begin", 0, 0, stream=STREAM)
    add(client, 1)
    client.op("event_record", 61, stream=STREAM)
    client.op("event_wait", 61, stream=SIDE)
    add(client, 10, BASE + 8, stream=SIDE)
    client.op("event_record", 62, stream=SIDE)
    client.op("event_wait", 62, stream=STREAM)
    client.op("copy_d2d", BASE + 16, BASE + 8, 8, stream=STREAM)


def end(client: Client, graph: int = GRAPH) -> Completion:
    return client.call("capture_end", graph, stream=STREAM)


def numbers(client: Client) -> list[int]:
    return [number(client, BASE + at) for at in (0, 8, 16)]
