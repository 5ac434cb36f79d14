"""Replay keeps the order that only the program's waiting made: results and progress that it had seen or read.

On the cuda device with the fake driver: a kernel that waits for a flag makes the first stream slow, so that a replay
that does not keep the order is practically always seen to be wrong; one that does is never.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from executor_rig import BASE, MIB, PROGRESS, Client, wait_for
from kernel_rig import ADD, WAIT, Node, function, launch, load
from toolkit.progress_page import Page

SLOW, QUICK, WAITING, EVENT = 11 << 16, 12 << 16, 13 << 16, 21  # places of their own in the progress page
NUMBER, COPY, FLAG = BASE, BASE + 64, BASE + 128


def begin(client: Client) -> None:
    """Two streams, two kernels, all memory zero, boundary 1."""
    assert client.call("allocate", BASE, 2 * MIB).status == 0
    for stream in (SLOW, QUICK):
        client.op("stream_create", stream, 1, 0)
    client.op("fill", BASE, 4096, 0, 1, stream=QUICK)
    assert load(client).status == 0
    for handle, name in ((ADD, "add_i64"), (WAIT, "wait_flag")):
        assert function(client, handle, name).status == 0
    client.drain()
    client.step_begin()
    client.boundary([(BASE, 4096, 0)])
    client.drain()


def see_a_result(node: Node, last: int) -> None:
    client = node.client
    assert client.call("stream_synchronize", stream=SLOW).status == 0


def see_an_event(node: Node, last: int) -> None:
    client = node.client
    client.op("event_create", EVENT, 0)
    client.op("event_record", EVENT, stream=SLOW)
    assert client.call("event_synchronize", EVENT).status == 0


def see_a_stream_that_waited(node: Node, last: int) -> None:
    """From its end follows what it had to wait for."""
    client = node.client
    client.op("event_create", EVENT, 0)
    client.op("event_record", EVENT, stream=SLOW)
    client.op("stream_create", WAITING, 1, 0)
    client.op("event_wait", EVENT, stream=WAITING)
    assert client.call("stream_synchronize", stream=WAITING).status == 0


def see_progress(node: Node, last: int) -> None:
    """As a query does: no op says that the program knows."""
    client = node.client
    client.flush()
    told = (PROGRESS, SLOW, last)
    client.wait(lambda: any((one.kind, one.stream, one.sequence) == told for one in client.seen))


def read_the_page(node: Node, last: int) -> None:
    """No message is taken, so that the worker has not noted that it told."""
    page = Page(node.memory.fds["pinned"])
    page.announce()
    node.client.flush()
    wait_for(lambda: page.executed(SLOW) >= last)
    node.client.op("known", SLOW, last)


@pytest.mark.parametrize("see", [see_a_result, see_an_event, see_a_stream_that_waited, see_progress, read_the_page])
@pytest.mark.parametrize("recover", [Node.go_back, Node.rebuild])
def test_what_came_after_the_program_knew_comes_after_it_again(
    node: Node, see: Callable[[Node, int], None], recover: Callable[[Node, int], None]
) -> None:
    client = node.client
    begin(client)
    launch(client, WAIT, FLAG, 1, stream=SLOW)
    last = launch(client, ADD, NUMBER, 5, 1, stream=SLOW)
    client.op("fill", FLAG, 1, 1, 1, stream=QUICK)
    see(node, last)
    client.op("copy_d2d", COPY, NUMBER, 8, stream=QUICK)  # nothing on the device orders it after the kernel
    client.flush()
    client.call("stream_synchronize", stream=QUICK)
    recover(node, 1)
    client.drain()
    reply = client.call("copy_d2h", COPY, 8, stream=QUICK)
    assert int.from_bytes(reply.payload, "little") == 5


def test_what_was_read_of_the_worker_before_holds_for_the_next(node: Node) -> None:
    """It ended before it was told what the program had read."""
    client = node.client
    begin(client)
    launch(client, WAIT, FLAG, 1, stream=SLOW)
    last = launch(client, ADD, NUMBER, 5, 1, stream=SLOW)
    client.op("fill", FLAG, 1, 1, 1, stream=QUICK)
    read_the_page(node, last)
    client.op("copy_d2d", COPY, NUMBER, 8, stream=QUICK)
    node.rebuild(1)  # sends what the worker before did not get
    client.drain()
    reply = client.call("copy_d2h", COPY, 8, stream=QUICK)
    assert int.from_bytes(reply.payload, "little") == 5


def test_every_replay_waits_for_results_of_its_own(node: Node) -> None:
    client = node.client
    begin(client)
    for _ in range(3):
        launch(client, ADD, NUMBER, 1, 1, stream=SLOW)
        client.call("copy_d2h", NUMBER, 8, stream=SLOW)
    node.go_back(1)
    node.go_back(1)
    client.drain()
    assert int.from_bytes(client.call("copy_d2h", NUMBER, 8, stream=SLOW).payload, "little") == 3
