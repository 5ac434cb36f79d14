"""Module images: taken in parts, checked, shared by sessions, bounded, kept over the life of a worker."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from executor_rig import MIB, Client, Control, Shared, batch, hash_of, library, make_executor, pack, stats, wait_for

from jitc.proxy.common import executor as binding
from jitc.proxy.common.executor import Executor, ExecutorError

PART = MIB


def image_of(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


class Node:
    """A service with a folder for images, and any number of workers."""

    def __init__(self, folder: Path, limit: int = 64 * MIB) -> None:
        folder.mkdir()
        self.folder, self.limit, self.control = folder, limit, Control()
        self.executors: list[Executor] = []
        self.memory: dict[int, Shared] = {}

    def worker(self) -> Executor:
        options: Any = {
            "device": "software", "memory_limit": 64 * MIB, "threads": 1,
            "images": str(self.folder), "options": {"images_limit": str(self.limit)},
        }  # fmt: skip
        self.executors.append(binding.Executor(library(), options, self.control))
        return self.executors[-1]

    def client(self, executor: Executor, session: int = 1) -> Client:
        self.memory[session] = Shared(journal=16 * MIB, snapshot=16 * MIB)
        executor.open_session(self.memory[session].request(session=session, slot=session))
        made = Client(executor, session=session)
        made.attach()
        return made

    def present(self) -> set[str]:
        return {path.name for path in self.folder.iterdir() if path.is_file()}

    def held(self, session: int = 1) -> set[str]:
        return {path.name for path in (self.folder / "held" / str(session)).iterdir()}

    def fault(self) -> tuple[int, str, str]:
        wait_for(lambda: self.control.faults)
        _, _, status, cause, message = self.control.faults[0]
        return status, cause, message

    def close(self) -> None:
        for one in self.executors:
            one.close()
        for one in self.memory.values():
            one.close()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(tmp_path / "images")
    yield made
    made.close()


def query(client: Client, data: bytes) -> bool:
    reply = client.call("image_query", hash_of(data), len(data))
    assert reply.status == 0
    return reply.payload == (1).to_bytes(4, "little")


def send(client: Client, data: bytes, start: int = 0, end: int | None = None, name: bytes | None = None) -> None:
    for at in range(start, len(data) if end is None else end, PART):
        piece = data[at : at + PART]
        client.op("image_part", name or hash_of(data), len(data), at, len(piece), payload=piece)
    client.flush()


def boundary(client: Client) -> None:
    client.step_begin()
    client.boundary([])
    client.drain()


def test_an_image_comes_in_parts_and_is_there(node: Node) -> None:
    before = os.umask(0o177)  # under which new folders cannot be entered
    try:
        client, data = node.client(node.worker()), image_of(1, 2 * MIB + 5)
    finally:
        os.umask(before)
    assert not query(client, data)
    send(client, data, end=MIB)
    assert not query(client, data)
    send(client, data, start=MIB)
    assert query(client, data)
    name = hash_of(data).hex()
    assert (node.folder / name).read_bytes() == data
    assert node.held() == {name}
    assert os.stat(node.folder / "held" / "1").st_mode & 0o777 == 0o700


def test_parts_that_are_there_are_passed_over(node: Node) -> None:
    client, data = node.client(node.worker()), image_of(2, 3 * MIB)
    send(client, data, end=2 * MIB)
    send(client, data)
    send(client, data)
    assert query(client, data) and (node.folder / hash_of(data).hex()).read_bytes() == data


@pytest.mark.parametrize(
    ("wrong", "text"),
    [("hash", "op image_part .* has another hash"), ("gap", "op image_part .* goes on at byte 1048576, but only 0")],
)
def test_an_image_that_cannot_be_is_a_fault(node: Node, wrong: str, text: str) -> None:
    client, data = node.client(node.worker()), image_of(3, 2 * MIB)
    if wrong == "hash":
        send(client, data, name=bytes(15) + b"x")
    else:
        send(client, data, start=MIB)
    status, cause, message = node.fault()
    assert (status, cause) == (1, "bad-image")
    assert re.search(text, message), message
    assert node.present() == set() and not [one for one in node.held() if not one.endswith(".part")]


def test_another_session_has_it_without_sending(node: Node) -> None:
    data = image_of(4, MIB)
    first, second = node.client(node.worker(), 1), node.client(node.worker(), 2)
    send(first, data)
    first.drain()
    assert query(second, data)
    name = hash_of(data).hex()
    places = [node.folder / name, node.folder / "held" / "1" / name, node.folder / "held" / "2" / name]
    assert len({os.stat(place).st_ino for place in places}) == 1


def test_two_sessions_that_send_at_once_end_with_one_file(node: Node) -> None:
    data = image_of(5, 2 * MIB)
    first, second = node.client(node.worker(), 1), node.client(node.worker(), 2)
    send(first, data, end=MIB)
    send(second, data, end=MIB)
    first.drain()
    second.drain()
    send(first, data, start=MIB)
    first.drain()
    send(second, data, start=MIB)
    second.drain()
    name = hash_of(data).hex()
    places = [node.folder / name, node.folder / "held" / "1" / name, node.folder / "held" / "2" / name]
    assert len({os.stat(place).st_ino for place in places}) == 1
    assert node.present() == {name}


def test_the_oldest_that_nobody_holds_goes_first(tmp_path: Path) -> None:
    node = Node(tmp_path / "images", limit=4 * MIB)
    try:
        executor = node.worker()
        images = [image_of(seed, MIB) for seed in range(10, 16)]
        names = [hash_of(one).hex() for one in images]
        for session in (1, 2):
            client = node.client(executor, session)
            send(client, images[session])
            client.drain()
        executor.close_session(1)  # nobody holds the first any more; it stays as long as there is room
        assert node.present() == {names[1], names[2]}
        client = node.client(executor, 3)
        for index in (3, 4):
            send(client, images[index])
            client.drain()
        assert node.present() == {names[1], names[2], names[3], names[4]}
        send(client, images[5])
        client.drain()
        assert node.present() == {names[2], names[3], names[4], names[5]}
        send(client, images[1])  # all are held now
        status, cause, message = node.fault()
        assert (status, cause) == (2, "bad-image") and "--images-limit" in message and str(4 * MIB) in message
    finally:
        node.close()


def test_a_worker_that_takes_over_goes_on_with_half_an_image(node: Node) -> None:
    first, data = node.worker(), image_of(6, 3 * MIB)
    client = node.client(first)
    send(client, data, end=MIB)
    boundary(client)  # the first part is not in the journal any more
    send(client, data, start=MIB, end=2 * MIB)
    client.drain()
    first.close()
    node.executors.remove(first)
    second = node.worker()
    second.open_session(node.memory[1].request(slot=1, rebuild=True, epoch=1))
    second.command("Rollback", {"session": 1, "boundary": 1})
    second.command("Resume", {"session": 1, "epoch": 1, "slots": [1]})
    client.reconnect(second)
    send(client, data, start=2 * MIB)
    assert query(client, data)


def test_what_is_not_needed_is_let_go_at_a_boundary(node: Node) -> None:
    client, data = node.client(node.worker()), image_of(7, MIB)
    send(client, data)
    assert query(client, data) and node.held() == {hash_of(data).hex()}
    boundary(client)  # no module of it was loaded
    assert node.held() == set() and node.present() == {hash_of(data).hex()}
    assert query(client, data)


def test_the_end_of_a_session_lets_go_of_everything(node: Node) -> None:
    executor, data = node.worker(), image_of(8, 2 * MIB)
    client = node.client(executor)
    send(client, data)
    send(client, image_of(9, 2 * MIB), end=MIB)
    client.drain()
    assert len(node.held()) == 2
    executor.close_session(1)
    assert not (node.folder / "held" / "1").exists()
    assert os.stat(node.folder / hash_of(data).hex()).st_nlink == 1


def test_replay_takes_parts_again_without_harm(node: Node) -> None:
    executor, data = node.worker(), image_of(1, 2 * MIB)
    client = node.client(executor)
    assert not query(client, data)
    send(client, data)
    assert query(client, data)
    executor.command("Fence", {"session": 1, "epoch": 1})
    assert executor.command("Rollback", {"session": 1, "boundary": 0})["complete"]
    executor.command("Resume", {"session": 1, "epoch": 1, "slots": [1]})
    client.drain()
    assert query(client, data) and not node.control.faults


def test_a_service_without_a_folder_says_so() -> None:
    shared, executor = Shared(journal=16 * MIB), make_executor()
    try:
        executor.open_session(shared.request())
        client = Client(executor)
        client.attach()
        reply = client.call("image_query", bytes(16), 8)
        assert reply.status == 801 and b"keeps no module images" in reply.payload
    finally:
        executor.close()
        shared.close()


HASH = bytes(16)
MALFORMED = [
    (pack("image_query", 1, HASH, 0), "no size, or of more than 2 GiB"),
    (pack("image_query", 1, HASH, (2 << 30) + 1), "no size, or of more than 2 GiB"),
    (pack("image_part", 1, HASH, 16, 0, 0), "brings nothing"),
    (pack("image_part", 1, HASH, 16, 0, 9, payload=bytes(8)), "as many bytes as it brings"),
    (pack("image_part", 1, HASH, 16, 0, 8, payload=bytes(16)), "as many bytes as it brings"),
    (pack("image_part", 1, HASH, 2 * MIB, 0, MIB + 8, payload=bytes(MIB + 8)), "more than 1 MiB at once"),
    (pack("image_part", 1, HASH, 16, 9, 8, payload=bytes(8)), "outside of its image"),
    (pack("image_part", 1, HASH, 16, (1 << 64) - 8, 8, payload=bytes(8)), "outside of its image"),
    (pack("image_part", 1, HASH, 1 << 62, 0, 8, payload=bytes(8)), "more than 2 GiB"),
    (pack("module_load", 1, 5, HASH, 0), "no size, or of more than 2 GiB"),
    (pack("function_get", 1, 5, 6, 0), "has no name"),
    (pack("function_get", 1, 5, 6, 4, payload=b"a\0bc"), "with a zero in it"),
    (pack("function_get", 1, 5, 6, 9, payload=b"abcd"), "as long as it says"),
    (pack("function_get", 1, 5, 6, (1 << 64) - 1, payload=b""), "more than 64 KiB"),
    (pack("variable_get", 1, 5, 65 << 10, payload=bytes(65 << 10)), "more than 64 KiB"),
    (pack("variable_alias", 1, 5, 1 << 62, 0), "has no name"),
    (pack("kernel_launch", 1, 5, 1, 1, 1, 1, 1, 1, 0, 1, 8, payload=bytes(72)), "attributes and parameters"),
    (pack("kernel_launch", 1, 5, 1, 1, 1, 1, 1, 1, 0, 65, 0, payload=bytes(65 * 72)), "64 launch attributes"),
    (pack("kernel_launch", 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 1 << 63, payload=b""), "32 KiB of parameters"),
    (pack("blas_call", 1, 5, 6, 2, payload=bytes(24)), "as many arguments"),
    (pack("lt_heuristic", 1, (1 << 64) - 1, 3, 0, payload=b""), "description as long"),
    (pack("lt_matmul", 1, *([0] * 6), 8, 0, 0, payload=bytes(112)), "description as long"),
    (pack("lt_matmul", 1, *([0] * 6), 0, 0, 0, payload=bytes(104)), "description as long"),
    (pack("library_call", 1, 5, 0, 0, 24, payload=bytes(16)), "description as long"),
    (pack("library_ask", 1, 0, 6, 8, (1 << 64) - 8, payload=b""), "description as long"),
    (pack("dnn_ask", 1, 1, 0, 24, payload=bytes(16)), "description as long"),
    (pack("dnn_call", 1, 1, 1, (1 << 64) - 8, payload=b""), "description as long"),
    (pack("dnn_try", 1, 1, 1, 8, payload=b""), "description as long"),
    (pack("dnn_plan_load", 1, 5, HASH, 0), "no size, or of more than 2 GiB"),
    (pack("dnn_execute", 1, 5, 0, 2, payload=bytes(32)), "as many tensors"),
    (pack("dnn_execute_try", 1, 5, 0, 1 << 60, payload=bytes(32)), "as many tensors"),
]


@pytest.mark.parametrize(("message", "text"), MALFORMED)
def test_a_malformed_op_takes_nothing(node: Node, message: bytes, text: str) -> None:
    executor = node.worker()
    client = node.client(executor)
    with pytest.raises(ExecutorError, match=text):
        executor.submit(1, batch(message))
    assert stats(executor)["received"] == 0
    client.drain()
