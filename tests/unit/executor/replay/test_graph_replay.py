"""Captures and graphs of the cuda device (with the fake driver) through journal and recovery."""

from __future__ import annotations

import os

import pytest
from executor_rig import BASE, wait_for
from kernel_rig import (
    EXECUTABLE,
    GRAPH,
    STREAM,
    Node,
    add,
    begin,
    boundary,
    capture,
    end,
    number,
    numbers,
)


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
