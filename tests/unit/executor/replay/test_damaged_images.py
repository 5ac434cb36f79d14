"""Module images, contents of graphs and descriptions of plans with a bit changed on the node: never used as it is."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plan_rig
import pytest
from damage_rig import PLACES, Kept, places, written
from executor_rig import hash_of, wait_for
from kernel_rig import (
    EXECUTABLE,
    GRAPH,
    IMAGE,
    STREAM,
    Node,
    add,
    begin,
    boundary,
    capture,
    end,
    load,
    number,
    variable,
)
from toolkit.fakes import fake_calls, fake_library

from jitc.proxy.common.executor import ExecutorError


def held(node: Node) -> list[Path]:
    return sorted((node.folder / "held" / "1").iterdir())


def flip(path: Path, place: int) -> None:
    """One bit of the file; twice is as before."""
    data = bytearray(path.read_bytes())
    data[place // 8] ^= 1 << place % 8
    with path.open("r+b") as file:
        file.write(data)


def prepared(node: Node) -> None:
    """A module, and a graph whose content is kept beside it."""
    begin(node.client)
    capture(node.client)
    assert end(node.client).status == 0
    assert node.client.call("graph_instantiate", GRAPH, EXECUTABLE, 0).status == 0
    boundary(node.client)
    node.client.op("graph_launch", EXECUTABLE, stream=STREAM)
    add(node.client, 1)


def put_back(node: Node, kept: Kept) -> None:
    """A worker that refused it may have it open still, and reads there now and then."""
    node.executor.close()
    kept.put_back()


def rebuilt(node: Node, epoch: int) -> dict[str, Any]:
    """The reply to the roll-back of a new worker."""
    node.executor.close()
    node.executor = node.worker()
    node.executor.open_session(node.memory.request(rebuild=True, epoch=epoch))
    return node.executor.command("Rollback", {"session": 1, "boundary": 1})


def test_a_rebuilt_worker_loads_no_damaged_image(node: Node) -> None:
    prepared(node)
    expected = number(node.client)
    files = held(node)
    assert len(files) == 2 and hash_of(IMAGE).hex() in {one.name for one in files}
    node.executor.close()
    kept, rng = Kept(node.memory), random.Random(3)
    for number_of in range(PLACES):
        path = files[number_of % 2]
        place = rng.randrange(8 * path.stat().st_size)
        flip(path, place)
        put_back(node, kept)
        try:
            reply = rebuilt(node, number_of)
            assert not reply["complete"] and "is damaged" in reply["message"], reply
        except ExecutorError as error:
            assert "is damaged" in str(error), error
        flip(path, place)
    put_back(node, kept)
    assert rebuilt(node, PLACES)["complete"]
    node.executor.command("Resume", {"session": 1, "epoch": PLACES, "slots": [0]})
    node.client.reconnect(node.executor)
    assert number(node.client) == expected


def test_damaged_copies_of_device_variables(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """No peer has them."""
    monkeypatch.setenv("JITC_FAKE_VARIABLES", "fixed")
    begin(node.client)
    assert variable(node.client, "counter").status == 0
    boundary(node.client)
    number(node.client)
    node.executor.close()
    [(_, end)] = written(node.memory.fds["snapshot"])
    variables = end - 4096  # behind the copies of blocks
    kept = Kept(node.memory)
    for epoch, one in enumerate(places("snapshot", [(variables, variables + 8)])):
        put_back(node, kept)
        one.apply(node.memory)
        reply = rebuilt(node, epoch)
        assert not reply["complete"] and not reply["missing"]
        assert "the kept copy of a device variable (8 bytes at address " in reply["message"]


@pytest.mark.parametrize("place", [0, 77, 8 * len(IMAGE) - 1])
def test_a_damaged_image_is_sent_again(node: Node, place: int) -> None:
    begin(node.client)
    path = node.folder / hash_of(IMAGE).hex()
    flip(path, place)
    query = node.client.call("image_query", hash_of(IMAGE), len(IMAGE))
    assert query.payload == bytes(4)  # as if it had never been there
    assert load(node.client, 22).status == 0
    assert path.read_bytes() == IMAGE
    add(node.client, 5)
    assert number(node.client) == 5


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Of what workers call of the fake cuDNN, which opens it once for each process."""
    path = tmp_path_factory.mktemp("dnn") / "log"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JITC_FAKE_CUDA", str(fake_library("cuda")))
        patch.setenv("JITC_FAKE_LOG", str(path))
        yield path


def scaled(node: Node) -> tuple[float, ...]:
    """What the plan has computed."""
    reply = node.client.call("copy_d2h", plan_rig.Y, 16, stream=STREAM)
    assert reply.status == 0, reply
    return struct.unpack("<4f", reply.payload)


def refusal(node: Node, epoch: int) -> str:
    """What a new worker says that takes over after boundary 1, once it has given up."""
    said = len(node.control.faults)
    reply = rebuilt(node, epoch)
    if not reply["complete"]:
        return str(reply["message"])
    node.executor.command("Resume", {"session": 1, "epoch": epoch, "slots": [0]})
    wait_for(lambda: len(node.control.faults) > said)
    return node.control.faults[-1][4]


@pytest.mark.parametrize("kept_in", ["boundary", "journal"])
def test_a_rebuilt_worker_executes_no_damaged_plan(node: Node, log: Path, kept_in: str) -> None:
    """Named before the boundary, and so one of its resources; or after it, and so by an op of the replay."""
    content, values = plan_rig.description(4), struct.pack("<4f", 1, 2, 3, 4)
    begin(node.client)
    node.client.op("copy_h2d", plan_rig.X, len(values), payload=values, stream=STREAM)
    for step in ("load", "boundary") if kept_in == "boundary" else ("boundary", "load"):
        plan_rig.load(node.client, content) if step == "load" else boundary(node.client)
    answer = plan_rig.execute(node.client, 3.0, STREAM)
    assert (answer.status, answer.payload) == (0, bytes(8))
    assert scaled(node) == (3, 6, 9, 12)
    node.client.drain()
    node.executor.close()
    executed = len(executions(log))
    path, kept, rng = node.folder / "held" / "1" / hash_of(content).hex(), Kept(node.memory), random.Random(5)
    for epoch in range(PLACES):
        place = rng.randrange(8 * len(content))
        flip(path, place)
        put_back(node, kept)
        assert f"image {hash_of(content).hex()} is damaged" in refusal(node, epoch)
        flip(path, place)
    assert executed and len(executions(log)) == executed, "a plan that may be another one was executed"
    node.control.faults.clear()
    put_back(node, kept)
    assert rebuilt(node, PLACES)["complete"]
    node.executor.command("Resume", {"session": 1, "epoch": PLACES, "slots": [0]})
    node.client.reconnect(node.executor)
    assert scaled(node) == (3, 6, 9, 12)
    assert len(executions(log)) == executed + 1


def executions(log: Path) -> list[int]:
    return [one.result for one in fake_calls(log) if one.name == "cudnnBackendExecute" and not one.runs]
