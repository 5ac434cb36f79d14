"""What a service asks of its bridge, over the socket: what reaches the data path, and what a refusal says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
from bridge_rig import Node, Town, town

from jitc.proxy.bridge.library import BridgeError
from jitc.proxy.common import rpc
from jitc.proxy.keeper.worker_end import NoMemory
from jitc.v1 import bridge_pb2

LINK = bridge_pb2.SegmentRequest(
    link=2**63 + 1, identity=9, segment_bytes=4096, ranks=3, here=[1],
    elsewhere=[bridge_pb2.RanksElsewhere(peer=2, ranks=[0, 2])],
)  # fmt: skip
MIRROR = bridge_pb2.MirrorRequest(
    shown=[bridge_pb2.ShownSlot(slot=3, session=30, peers=[2])],
    mirrored=[bridge_pb2.MirroredSlot(slot=70, session=900, peer=2, epoch=5)],
)


class Asked:
    """One bridge, asked over its socket. taken: identities of segments that were asked for."""

    def __init__(self, made: Town, stub: Any) -> None:
        self.node: Node = made.nodes[0]
        self.stub, self.taken = stub, list[int]()
        self.take: Callable[[int], int] = lambda identity: os.dup(0)
        self.node.control._take = self._took

    def _took(self, identity: int) -> int:
        self.taken.append(identity)
        return self.take(identity)

    def refusal(self, method: str, request: Any) -> str:
        with pytest.raises(grpc.RpcError) as error:
            getattr(self.stub, method)(request, timeout=20)
        code, text = rpc.status_of(error.value)
        assert code is grpc.StatusCode.FAILED_PRECONDITION, (code, text)
        return text


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    with ExitStack() as ends:
        made = ends.enter_context(town(tmp_path, 1))
        server = rpc.serve(lambda one: rpc.add_bridge(made.nodes[0].control, one), str(tmp_path / "b1"))
        ends.callback(lambda: server.stop(0).wait())
        yield Asked(made, rpc.bridge(ends.enter_context(rpc.channel(str(tmp_path / "b1")))))


def test_requests_reach_the_data_path(asked: Asked) -> None:
    asked.stub.Link(LINK, timeout=20)
    asked.stub.Unlink(bridge_pb2.UnlinkRequest(link=7), timeout=20)
    asked.stub.Mirror(MIRROR, timeout=20)
    (_, link), *rest = asked.node.mirror.calls
    path = link.pop("path")
    assert path.startswith("/proc/self/fd/") and not os.path.exists(path), "it is open no longer than needed"
    assert link == {
        "link": 2**63 + 1, "kind": "software", "bytes": 4096, "identity": 9, "ranks": 3, "here": [1],
        "elsewhere": [{"peer": 2, "ranks": [0, 2]}],
    }  # fmt: skip
    remote = {"slot": 70, "session": 900, "peer": 2, "epoch": 5}
    assert rest == [
        ("unlink", 7),
        ("show", {"local": [{"slot": 3, "session": 30, "peers": [2]}], "remote": [remote]}),
    ]
    assert asked.taken == [9]
    assert asked.stub.Traffic(bridge_pb2.TrafficRequest(), timeout=20).json == '{"links": 3}'


@pytest.mark.parametrize(
    ("method", "call", "request_"),
    [
        ("Link", "link", LINK), ("Unlink", "unlink", bridge_pb2.UnlinkRequest(link=7)), ("Mirror", "show", MIRROR),
        ("Traffic", "counters", bridge_pb2.TrafficRequest()),
    ],
)  # fmt: skip
def test_a_refusal_of_the_data_path_has_its_text(
    method: str, call: str, request_: Any, asked: Asked, capfd: pytest.CaptureFixture[str]
) -> None:
    asked.node.mirror.errors[call] = BridgeError("no slot 256")
    assert asked.refusal(method, request_) == "no slot 256"
    del asked.node.mirror.errors[call]
    getattr(asked.stub, method)(request_, timeout=20)
    assert not capfd.readouterr().err


def test_a_segment_that_cannot_be_had_is_not_linked(asked: Asked) -> None:
    asked.take = lambda identity: -1
    assert "has been given up" in asked.refusal("Link", LINK)

    def none(identity: int) -> int:
        raise NoMemory("jitc-keeper does not answer")

    asked.take = none
    assert "jitc-keeper does not answer" in asked.refusal("Link", LINK)
    assert not asked.node.mirror.calls
