"""Sessions on the cuda device (with the fake driver): modules, launches and graphs through journal and recovery."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from executor_rig import BASE, MIB, Client, Completion, Control, Shared, hash_of, library, stats, wait_for
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolkit.fakes import fake_library

from jitc.proxy.executor import Executor

IMAGE = b"JITCFAKE 1\nkernel add_i64\nkernel bump_global\nglobal counter 8\n"
STREAM, SIDE, MODULE, ADD, BUMP, GRAPH, EXECUTABLE = 11, 12, 21, 31, 32, 41, 51
UNKNOWN = 500


class Node:
    """The folder of images and the memory of one session; workers come and go."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.control = folder, Control()
        self.memory = Shared(journal=16 * MIB, snapshot=64 * MIB)
        self.executor = self.worker()
        self.executor.open_session(self.memory.request())
        self.client = Client(self.executor)
        self.client.attach()

    def worker(self) -> Executor:
        options: Any = {
            "device": "cuda", "memory_limit": 0, "threads": 1, "operators": "", "driver": str(fake_library("cuda")),
            "nccl": "", "cublas": "", "cublaslt": "", "nvrtc": str(fake_library("nvrtc")), "ordinal": 0,
            "hang_seconds": 0.0, "images": str(self.folder), "images_limit": 64 * MIB, "poison": True,
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


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    (tmp_path / "images").mkdir()
    made = Node(tmp_path / "images")
    yield made
    made.close()
    assert not made.control.faults


def upload(client: Client, data: bytes) -> None:
    client.op("image_part", hash_of(data), len(data), 0, len(data), payload=data)


def load(client: Client, module: int = MODULE, data: bytes = IMAGE) -> Completion:
    upload(client, data)
    return client.call("module_load", module, hash_of(data), len(data))


def function(client: Client, handle: int, name: str, module: int = MODULE) -> Completion:
    return client.call("function_get", module, handle, len(name), payload=name.encode())


def variable(client: Client, name: str, module: int = MODULE) -> Completion:
    return client.call("variable_get", module, len(name), payload=name.encode())


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


def test_a_module_is_sent_loaded_and_run(node: Node) -> None:
    client = node.client
    begin(client)
    info = function(client, BUMP, "bump_global")
    assert len(info.payload) == 72 and int.from_bytes(info.payload[64:], "little") == 0  # no parameters
    add(client, 5)
    add(client, 6)
    assert number(client) == 11
    assert {one.name for one in node.folder.iterdir()} == {hash_of(IMAGE).hex(), "held"}


def test_what_does_not_exist_is_said_to_the_program_also_in_replay(node: Node) -> None:
    client = node.client
    begin(client)
    absent = function(client, BUMP, "no_such_kernel")
    assert absent.status == UNKNOWN and b"no_such_kernel" in absent.payload
    assert client.call("module_load", 99, bytes(16), 5).status == 200
    add(client, 1)
    assert number(client) == 1
    node.go_back(0)
    client.drain()
    assert number(client) == 1
    assert function(client, BUMP, "bump_global").status == 0


@pytest.mark.parametrize("rebuilt", [False, True])
def test_launches_are_replayed(node: Node, rebuilt: bool) -> None:
    client = node.client
    begin(client)
    client.call("function_set", ADD, 8, 60_000)
    add(client, 1)
    boundary(client)
    add(client, 10)
    assert function(client, BUMP, "bump_global").status == 0
    launch(client, BUMP)
    assert number(client) == 11
    if rebuilt:
        node.rebuild(1)
    else:
        node.go_back(1)
    add(client, 100)
    assert number(client) == 111


def test_a_rebuilt_worker_finds_images_that_only_this_session_had(node: Node) -> None:
    client = node.client
    begin(client)
    boundary(client)
    (node.folder / hash_of(IMAGE).hex()).unlink()  # as if others had needed the room
    node.rebuild(1)
    add(client, 7)
    assert number(client) == 7


def test_a_module_that_was_unloaded_since_the_boundary_comes_back(node: Node) -> None:
    """Its image is held until nothing can go back to it."""
    client, name = node.client, hash_of(IMAGE).hex()
    begin(client)
    add(client, 1)
    boundary(client)
    client.op("module_unload", MODULE)
    client.drain()
    held = node.folder / "held" / "1" / name
    assert held.exists()
    node.rebuild(1)
    client.drain()
    assert function(client, ADD, "add_i64").status == 400  # unloaded in replay too
    boundary(client)
    wait_for(lambda: not held.exists())
    assert (node.folder / name).exists()
    assert client.call("module_load", MODULE, hash_of(IMAGE), len(IMAGE)).status == 0


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


@pytest.mark.parametrize("rebuilt", [False, True])
def test_graphs_are_there_after_a_fault_and_give_the_same(node: Node, rebuilt: bool) -> None:
    client = node.client
    begin(client)
    capture(client)
    assert end(client).payload == (3).to_bytes(8, "little")
    assert client.call("graph_instantiate", GRAPH, EXECUTABLE, 0).status == 0
    client.op("graph_destroy", GRAPH)
    boundary(client)
    # The boundary names what the graph consists of; the ops lie with the images.
    assert len({one.name for one in (node.folder / "held" / "1").iterdir()}) == 2
    client.op("graph_launch", EXECUTABLE, stream=STREAM)
    client.op("graph_launch", EXECUTABLE, stream=STREAM)
    before = numbers(client)
    assert before == [2, 20, 20]
    if rebuilt:
        node.rebuild(1)
    else:
        node.go_back(1)
    assert numbers(client) == before
    client.op("graph_launch", EXECUTABLE, stream=STREAM)
    assert numbers(client) == [3, 30, 30]
    client.op("executable_destroy", EXECUTABLE)
    boundary(client)
    wait_for(lambda: len(os.listdir(node.folder / "held" / "1")) == 1)


@pytest.mark.parametrize("rebuilt", [False, True])
def test_a_capture_goes_on_where_the_boundary_was(node: Node, rebuilt: bool) -> None:
    client = node.client
    begin(client)
    client.op("capture_begin", 0, 0, stream=STREAM)
    add(client, 1)
    client.step_begin()
    client.boundary([(BASE, 4096, 0)])
    add(client, 1)
    assert end(client).payload == (2).to_bytes(8, "little")
    if rebuilt:
        node.rebuild(1)
    else:
        node.go_back(1)
    assert client.call("graph_instantiate", GRAPH, EXECUTABLE, 0).status == 0
    client.op("graph_launch", EXECUTABLE, stream=STREAM)
    assert number(client) == 2


def test_a_capture_that_was_refused_is_refused_again_in_replay(node: Node) -> None:
    client = node.client
    begin(client)
    client.op("capture_begin", 0, 0, stream=STREAM)
    client.op("copy_h2d", BASE, 8, payload=bytes(8), stream=STREAM)
    assert client.call("stream_synchronize", stream=STREAM).status == 900
    refused = end(client)
    assert refused.status == 900 and b"a copy from the host cannot be captured" in refused.payload
    add(client, 4)
    assert number(client) == 4
    node.go_back(0)
    assert number(client) == 4


def counter(client: Client) -> int:
    """The address of the module's variable, which bump_global adds to."""
    assert function(client, BUMP, "bump_global").status == 0
    found = variable(client, "counter")
    address, size = struct.unpack("<QQ", found.payload)
    assert found.status == 0 and size == 8
    return int(address)


def test_variables_that_change_are_told(node: Node) -> None:
    """Then no peer can give back what a rank has after its step."""
    client = node.client
    begin(client)
    counter(client)

    def changes(number: int) -> bool:
        boundary(client)
        found: bool = node.executor.command("BoundaryTable", {"session": 1, "boundary": number})["variables_change"]
        return found

    assert changes(1)  # it is new
    assert not changes(2)
    launch(client, BUMP)
    assert changes(3)


@pytest.mark.parametrize("rebuilt", [False, True])
def test_variables_have_their_content_again(node: Node, rebuilt: bool) -> None:
    client = node.client
    begin(client)
    address = counter(client)
    for _ in range(3):
        launch(client, BUMP)
    boundary(client)
    rows = node.executor.command("BoundaryTable", {"session": 1, "boundary": 1})["rows"]
    assert [row["address"] for row in rows] == [BASE]  # they are nobody else's business
    launch(client, BUMP)
    assert number(client, address) == 4
    if rebuilt:
        node.rebuild(1)
    else:
        node.go_back(1)
    assert number(client, address) == 4
    assert client.call("variable_get", MODULE, 7, payload=b"counter").status == 0


@pytest.mark.parametrize("changes", [True, False])
def test_steps_are_skipped_only_when_variables_do_not_change(node: Node, changes: bool) -> None:
    client = node.client
    begin(client)
    address = counter(client)
    launch(client, BUMP)
    boundary(client)
    if changes:
        launch(client, BUMP)
    boundary(client)
    node.executor.command("Fence", {"session": 1, "epoch": 1})
    client.step_begin()
    client.boundary([])
    client.flush()
    reply = node.executor.command("SkipStep", {"session": 1, "boundary": 3})
    assert reply["complete"] is not changes
    if changes:
        assert "the device variable counter is new or changes" in reply["message"]
        return
    node.executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
    assert number(client, address) == 1


def test_steps_are_skipped_with_what_they_made(node: Node) -> None:
    """SkipStep: modules, functions and graphs of the skipped ops exist, parts of images are taken in."""
    client, other = node.client, IMAGE + b" " * 64
    begin(client)
    assert function(client, BUMP, "bump_global").status == 0
    capture(client)
    assert end(client).status == 0
    assert client.call("graph_instantiate", GRAPH, EXECUTABLE, 0).status == 0
    node.executor.command("Fence", {"session": 1, "epoch": 1})
    asked = client.op("image_query", hash_of(other), len(other))
    upload(client, other)
    client.step_begin()
    client.boundary([])
    client.flush()
    reply = node.executor.command("SkipStep", {"session": 1, "boundary": 1})
    assert reply["complete"], reply
    node.executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
    client.wait(lambda: asked in client.results)
    assert client.results[asked].payload == bytes(4)  # it was not there yet
    client.op("fill", BASE, 4096, 0, 1, stream=STREAM)
    client.op("graph_launch", EXECUTABLE, stream=STREAM)
    assert numbers(client) == [1, 10, 10]
    assert client.call("module_load", 99, hash_of(other), len(other)).status == 0


def test_a_step_whose_results_are_unknown_is_not_skipped(node: Node) -> None:
    client = node.client
    begin(client)
    node.executor.command("Fence", {"session": 1, "epoch": 1})
    client.op("function_get", MODULE, BUMP, 11, payload=b"bump_global")
    client.step_begin()
    client.boundary([])
    client.flush()
    reply = node.executor.command("SkipStep", {"session": 1, "boundary": 1})
    assert not reply["complete"] and "op function_get" in reply["message"]


SMALL = st.sampled_from([0, 1, 2, 11, 12, 13, 21, 22, 31, 32, 33, 41, 42, 51, 52, 61, 62])
PLACE = st.sampled_from([0, BASE, BASE + 8, BASE + 2 * MIB, 1 << 47, (1 << 64) - 8])
#: Operands by op: handles that may exist, or not, and places in or outside of the memory.
OPERANDS: dict[str, tuple[st.SearchStrategy[Any], ...]] = {
    "stream_create": (SMALL, st.integers(0, 2), st.integers(-3, 3)),
    "stream_destroy": (SMALL,),
    "stream_synchronize": (),
    "device_synchronize": (),
    "event_create": (SMALL, st.integers(0, 4)),
    "event_destroy": (SMALL,),
    "event_record": (SMALL,),
    "event_wait": (SMALL,),
    "event_synchronize": (SMALL,),
    "event_elapsed": (SMALL, SMALL),
    "fill": (PLACE, st.sampled_from([0, 8, 4096]), st.just(1), st.sampled_from([1, 4])),
    "copy_d2d": (PLACE, PLACE, st.sampled_from([0, 8])),
    "copy_d2h": (PLACE, st.just(8)),
    "memory_info": (),
    "module_load": (SMALL, st.just(hash_of(IMAGE)), st.sampled_from([len(IMAGE), 5])),
    "module_unload": (SMALL,),
    "function_set": (SMALL, st.integers(-1, 16), st.integers(-1, 70_000)),
    "function_query": (SMALL, SMALL, st.integers(0, 4), SMALL, SMALL, SMALL),
    "capture_begin": (st.integers(0, 3), st.just(0)),
    "capture_end": (SMALL,),
    "graph_destroy": (SMALL,),
    "graph_instantiate": (SMALL, SMALL, st.sampled_from([0, 1, 8, 64])),
    "graph_launch": (SMALL,),
    "executable_destroy": (SMALL,),
}


@st.composite
def steps(draw: Any) -> list[tuple[str, tuple[Any, ...], bytes, int]]:
    made = []
    for _ in range(draw(st.integers(1, 25))):
        name = draw(st.sampled_from([*OPERANDS, "kernel_launch", "kernel_launch", "capture_begin", "capture_end"]))
        stream = draw(st.sampled_from([0, STREAM, STREAM, STREAM, SIDE, 13]))
        if name == "kernel_launch":
            payload = struct.pack("<QQQ", draw(PLACE), 1, draw(st.integers(0, 2)))
            shape = tuple(draw(st.sampled_from([1, 1, 1, 0, 2000])) for _ in range(6))
            made.append((name, (draw(SMALL), *shape, 0, 0, 24), payload, stream))
        else:
            made.append((name, tuple(draw(one) for one in OPERANDS[name]), b"", stream))
    return made


@settings(
    max_examples=150, derandomize=True, deadline=None, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(steps())
def test_any_ops_in_any_order(tmp_path_factory: pytest.TempPathFactory, ops: list[Any]) -> None:
    """Ends in results or a fault; the same again after going back; the worker lives."""
    node = Node(tmp_path_factory.mktemp("images"))
    try:
        begin(node.client)
        boundary(node.client)
        for name, operands, payload, stream in ops:
            node.client.op(name, *operands, payload=payload, stream=stream)
        node.client.flush()

        def settled() -> bool:
            now = stats(node.executor)
            return bool(now["state"] == "faulted" or now["executed"] >= now["received"])

        wait_for(settled)
        node.go_back(1)
        wait_for(settled)
    finally:
        node.close()  # what was reported has been told by then
    assert "replay-mismatch" not in [cause for _, _, _, cause, _ in node.control.faults], node.control.faults
