"""Sessions on the cuda device (with the fake driver): modules and launches through journal and recovery."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from executor_rig import BASE, MIB, hash_of, stats, wait_for
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kernel_rig import (
    ADD,
    BUMP,
    DEEP,
    IMAGE,
    MODULE,
    SIDE,
    STREAM,
    Node,
    add,
    begin,
    boundary,
    function,
    launch,
    number,
)

UNKNOWN = 500
STACK_LIMIT = 0


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


@pytest.mark.parametrize("rebuilt", [False, True])
def test_limits_for_kernels_are_there_again(node: Node, rebuilt: bool) -> None:
    """A kernel that needs a larger stack runs in the worker that takes over, and in the same one after a roll-back."""
    client = node.client
    begin(client)
    assert function(client, DEEP, "deep").status == 0
    found = client.call("limit_set", STACK_LIMIT, 0, 8000)
    assert (found.status, int.from_bytes(found.payload, "little")) == (0, 8000)
    boundary(client)
    client.call("limit_set", STACK_LIMIT, 0, 16000)
    if rebuilt:
        node.rebuild(1)
    else:
        node.go_back(1)
    launch(client, DEEP, 16000)
    assert number(client) == 0
    assert not node.control.faults


SMALL = st.sampled_from([0, 1, 2, 11, 12, 13, 21, 22, 31, 32, 33, 41, 42, 51, 52, 61, 62])
PLACE = st.sampled_from([0, BASE, BASE + 8, BASE + 2 * MIB, 1 << 47, (1 << 64) - 8])
#: A kernel that writes elsewhere costs the process its context, which all tests of this process share.
INSIDE = st.sampled_from([BASE, BASE + 8, BASE + 2 * MIB - 16])
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
    "limit_set": (st.integers(-1, 8), st.just(0), st.sampled_from([0, 1001, 4096, 1 << 40])),
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
            payload = struct.pack("<QQQ", draw(INSIDE), 1, draw(st.integers(0, 2)))
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
