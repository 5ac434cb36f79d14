"""Device variables of the cuda device (with the fake driver) through journal and recovery; steps that are skipped."""

from __future__ import annotations

import struct

import pytest
from executor_rig import BASE, MIB, Client, hash_of
from kernel_rig import (
    BUMP,
    EXECUTABLE,
    GRAPH,
    IMAGE,
    MODULE,
    STREAM,
    Node,
    alias,
    begin,
    boundary,
    capture,
    end,
    function,
    launch,
    load,
    number,
    numbers,
    upload,
    variable,
)

#: Two variables that can stand at each other's place, and their aliases.
TWO = b"JITCFAKE 1\nkernel bump_global\nglobal counter 8\nglobal other 8\n"
COUNTER, OTHER = 1 << 62, (1 << 62) + (1 << 40)


@pytest.fixture(autouse=True)
def places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables lie at the same place whenever their module is loaded, as a rebuilt worker needs it."""
    monkeypatch.setenv("JITC_FAKE_VARIABLES", "fixed")


def counter(client: Client) -> int:
    """The address of the module's variable, which bump_global adds to."""
    assert function(client, BUMP, "bump_global").status == 0
    found = variable(client, "counter")
    address, size = struct.unpack("<QQ", found.payload)
    assert found.status == 0 and size == 8
    return int(address)


def two(client: Client) -> None:
    """A session with them, 3 in the counter, and 7 in the other one."""
    assert client.call("allocate", BASE, 2 * MIB).status == 0
    client.op("stream_create", STREAM, 1, 0)
    assert load(client, MODULE, TWO).status == 0
    assert function(client, BUMP, "bump_global").status == 0
    for name, address in (("counter", COUNTER), ("other", OTHER)):
        assert alias(client, name, address).payload == struct.pack("<Q", 8)
    for _ in range(3):
        launch(client, BUMP)
    put(client, OTHER, 7)


def put(client: Client, address: int, value: int) -> None:
    client.op("copy_h2d", address, 8, payload=struct.pack("<Q", value), stream=STREAM)


@pytest.mark.parametrize("moved", ["swapped", "moved"])
def test_variables_with_aliases_are_followed(node: Node, monkeypatch: pytest.MonkeyPatch, moved: str) -> None:
    """Their kept content comes to where they lie now; what is replayed goes there too."""
    client = node.client
    two(client)
    boundary(client)
    launch(client, BUMP)
    put(client, OTHER, 8)
    assert (number(client, COUNTER), number(client, OTHER)) == (4, 8)
    for where in (moved, "fixed"):
        monkeypatch.setenv("JITC_FAKE_VARIABLES", where)
        node.rebuild(1)
        assert (number(client, COUNTER), number(client, OTHER)) == (4, 8)
    launch(client, BUMP)
    assert (number(client, COUNTER), number(client, OTHER)) == (5, 8)


def test_aliases_through_a_roll_back_and_a_change_that_waits(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    client = node.client
    two(client)
    boundary(client)
    boundary(client)
    launch(client, BUMP)
    assert number(client, COUNTER) == 4
    node.go_back(2)
    assert (number(client, COUNTER), number(client, OTHER)) == (4, 7)
    monkeypatch.setenv("JITC_FAKE_VARIABLES", "swapped")
    node.rebuild(2)
    assert (number(client, COUNTER), number(client, OTHER)) == (4, 7)
    boundary(client)
    table = node.executor.command("BoundaryTable", {"session": 1, "boundary": 3})
    assert table["variables_change"] and [row["address"] for row in table["rows"]] == [BASE]
    node.go_back(3)
    assert (number(client, COUNTER), number(client, OTHER)) == (4, 7)


def test_an_address_that_is_told_after_a_move_stays(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alias and address are one variable, each for those that have it; from then on it must not move again."""
    client = node.client
    two(client)
    boundary(client)
    monkeypatch.setenv("JITC_FAKE_VARIABLES", "swapped")
    node.rebuild(1)
    told, _ = struct.unpack("<QQ", variable(client, "counter").payload)
    assert number(client, told) == number(client, COUNTER) == 3
    put(client, told, 30)
    boundary(client)
    launch(client, BUMP)
    node.rebuild(2)
    assert number(client, told) == number(client, COUNTER) == 31
    assert number(client, OTHER) == 7
    monkeypatch.setenv("JITC_FAKE_VARIABLES", "fixed")
    with pytest.raises(AssertionError, match="the device variable counter is at 0x"):
        node.rebuild(2)


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
