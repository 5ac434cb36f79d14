"""Commands that another node answers: the same handler as on that node, over real links, and what comes between.

TLS, sockets and the Admin service are real; a node's sessions are made up.
"""

from __future__ import annotations

import json
import random
import threading
import zlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from peer_rig import CALL_SECONDS, Node, Town, outcome
from toolkit.waiting import patient

from jitc.proxy.cluster import commands as over_nodes
from jitc.proxy.cluster.commands import Commands
from jitc.proxy.cluster.peers.server import PeerServer, PeerService
from jitc.proxy.common.rpc import Refused, Waiting
from jitc.proxy.node.api import nodes as api
from jitc.proxy.node.api.admin import AdminService
from jitc.v1 import control_pb2, peer_pb2

INVALID, NOT_FOUND, PRECONDITION = 3, 5, 9


class Call:
    """The context of a command's call."""

    def __init__(self) -> None:
        self.active = True
        self.code: grpc.StatusCode | None = None

    def is_active(self) -> bool:
        return self.active

    def abort(self, code: grpc.StatusCode, text: str) -> None:
        self.code = code
        raise RuntimeError(text)


class Place(Node):
    """A node with an Admin service, whose commands may ask other nodes."""

    def __init__(self, town: Town, name: str, *, clustered: bool = True, may_ask: bool = True) -> None:
        self.waiting = Waiting(f"test-{name}", 8)
        self.ended = threading.Event()  # a validation has
        self.recoveries: list[dict[str, Any]] = []
        self.running: set[str] = {"n1", "n2", "n3"}  # nodes that the store has now
        registry: Any = SimpleNamespace(config=SimpleNamespace(node=name if clustered else ""), gpus=[0])
        self.seen: Any = SimpleNamespace(
            user="ann", registry=registry, recoveries=lambda: self.recoveries, validations=list, divergences=list,
            races=SimpleNamespace(documents=list), faults=SimpleNamespace(documents=list), validate=self._validate,
        )  # fmt: skip
        registry.used = lambda gpu: True
        self.commands = Commands()
        self.admin = AdminService(lambda: [self.seen], self.waiting, self.commands if may_ask else None)
        super().__init__(town, town.credentials(name))
        town.nodes.append(self)

    def _validate(self, gpu: int) -> Any:
        return SimpleNamespace(done=self.ended, document={"outcome": "identical"}, refusal="")

    def _serve(self, address: str) -> PeerServer:
        service = PeerService(self._answer)
        self.commands.install(service, self.admin)
        return PeerServer(address, self.credentials, self._known, service.add)

    def join(self, *others: Node) -> None:
        for one in others:
            self.link(one)
        known: Any = SimpleNamespace(
            last_seen=lambda: {one.name: None for one in others}, others=lambda: dict.fromkeys(self.running)
        )
        self.commands.join(known, self.peers)

    def command(self, node: str, method: str, request: Any, call: Call | None = None) -> Any:
        """What a command on this node gets from another one: the reply, or code and text of the refusal."""
        asked = control_pb2.AskNodeRequest(node=node, method=method, request=request.SerializeToString())
        call = call or Call()
        try:
            return self.admin._ask_node(asked, call)
        except Refused as refusal:
            assert call.code is not None
            return call.code.value[0], str(refusal)

    def close(self) -> None:
        super().close()
        self.ended.set()
        self.waiting.close()


@pytest.fixture
def two(town: Town) -> Iterator[tuple[Place, Place]]:
    here, there = Place(town, "n1"), Place(town, "n2")
    here.join(there)
    there.join(here)
    yield here, there


REPORT = control_pb2.ReportRequest()


def test_the_other_node_answers_as_for_its_own_commands(two: tuple[Place, Place]) -> None:
    here, there = two
    there.recoveries = [{"time": 1.0, "places": [{"node": "", "gpu": 0}], "ranks": [{"node": "n1"}, {"node": ""}]}]
    answer = here.command("n2", "Report", REPORT)
    found = json.loads(control_pb2.JsonReply.FromString(answer.reply).json)
    own = json.loads(there.admin.Report(REPORT, None).json)
    assert (answer.trouble, answer.code) == ("", 0) and found == own
    [recovery] = found["recoveries"]
    assert recovery["node"] == "n2" and recovery["places"] == [{"node": "n2", "gpu": 0}]
    assert [one["node"] for one in recovery["ranks"]] == ["n1", "n2"]
    assert here.admin.Nodes(None, Call()) == control_pb2.NodesReply(node="n1", others=["n2"])


def test_this_node_may_be_named_too(two: tuple[Place, Place]) -> None:
    here, there = two
    there.close()
    answer = here.command("n1", "Report", REPORT)
    assert control_pb2.JsonReply.FromString(answer.reply) == here.admin.Report(REPORT, None)


def test_a_refusal_of_the_other_node_is_a_refusal(two: tuple[Place, Place]) -> None:
    answer = two[0].command("n2", "ReturnGpu", control_pb2.ReturnGpuRequest(gpu=4))
    assert (answer.trouble, answer.code, answer.reply) == ("", NOT_FOUND, b"")
    assert answer.text == "this node has no GPU 4; it has GPU 0 alone (jitc status)"


def test_a_node_that_does_not_answer(two: tuple[Place, Place]) -> None:
    here, there = two
    there.server.stop()
    answer = here.command("n2", "Report", REPORT)
    assert answer.code == 0 and answer.trouble.endswith("cannot be reached: Connection refused")


def test_a_node_that_takes_too_long(two: tuple[Place, Place], monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = two
    there.command("n2", "Report", REPORT)
    assert not here.command("n2", "Report", REPORT).trouble
    monkeypatch.setattr(api, "NODE_SECONDS", 0.2)
    entered = threading.Event()

    def stuck() -> list[dict[str, Any]]:
        entered.set()
        assert there.ended.wait(patient(60))
        return []

    there.seen.recoveries = stuck
    assert here.command("n2", "Report", REPORT).trouble == "no answer to Command within 0.2 s"
    assert entered.is_set()
    there.ended.set()


def test_waits_of_other_nodes_have_a_limit_of_their_own(two: tuple[Place, Place]) -> None:
    wanted = control_pb2.ValidationRequest(gpu=0, wait_ms=0xFFFF_FFFF)
    carried, seconds = api.limited("Validate", wanted.SerializeToString())
    limit = control_pb2.ValidationRequest(gpu=0, wait_ms=api.WAIT_MS_MOST)
    assert control_pb2.ValidationRequest.FromString(carried) == limit
    assert seconds == api.WAIT_MS_MOST / 1000 + api.NODE_SECONDS
    two[1].ended.set()
    answer = two[0].command("n2", "Validate", wanted)
    verdict = json.loads(control_pb2.JsonReply.FromString(answer.reply).json)
    assert verdict == {"outcome": "identical", "user": "ann", "node": "n2"}


def test_a_command_that_has_ended_is_not_waited_for(two: tuple[Place, Place]) -> None:
    call = Call()
    call.active = False
    wanted = control_pb2.ValidationRequest(gpu=0, wait_ms=60_000)
    assert two[0].command("n2", "Validate", wanted, call).trouble == "the command has ended"


@pytest.mark.parametrize(
    ("node", "method", "code", "says"),
    [
        ("n3", "Report", NOT_FOUND, "the cluster has no node n3, as far as this one knows; its nodes are n1, n2"),
        ("n\n\x1b[2J", "Report", NOT_FOUND, "no node n\\n\\x1b[2J,"),
        ("n2", "AskNode", INVALID, "AskNode is not for other nodes"),
        ("n2", "_validate", INVALID, "_validate is not for other nodes"),
    ],
)
def test_what_is_refused_at_once(node: str, method: str, code: int, says: str, two: tuple[Place, Place]) -> None:
    found = two[0].command(node, method, REPORT)
    assert found[0] == code and says in found[1]


def test_a_node_that_has_left_commands_nobody(two: tuple[Place, Place]) -> None:
    """Its certificate is still good, and its jobs' calls are still answered."""
    here, there = two
    there.running.discard("n1")
    answer = here.command("n2", "Report", REPORT)
    assert answer.text == "node n1 is not in the cluster now, as far as this node knows" and answer.code == 7
    there.running.add("n1")
    assert here.command("n2", "Report", REPORT).code == 0
    there.commands.leave()
    assert here.command("n2", "Report", REPORT).code == 7


def test_half_an_answer_is_none(two: tuple[Place, Place], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = zlib.compress
    monkeypatch.setattr(over_nodes.zlib, "compress", lambda text: whole(text)[:-2])
    assert two[0].command("n2", "Report", REPORT).trouble == "its answer cannot be read"


def test_a_request_that_cannot_be_read(two: tuple[Place, Place]) -> None:
    """On the way there, and where another node sends it all the same."""
    garbage = control_pb2.AskNodeRequest(node="n2", method="Inject", request=b"\xff\xff")
    call = Call()
    with pytest.raises(Refused, match="the request cannot be read"):
        two[0].admin._ask_node(garbage, call)
    for method in ("Inject", "AskNode", "Nodes", "__init__", ""):
        sent = two[0].ask("n2", peer_pb2.CommandRequest(method=method, request=b"\xff\xff"), "Command")
        reply = outcome(sent)
        assert reply.code and reply.text, method


def test_answers_have_limits(two: tuple[Place, Place], monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = two
    there.recoveries = [{"time": 1.0, "notes": ["0" * 100_000]}]
    assert here.command("n2", "Report", REPORT).code == 0
    monkeypatch.setattr(over_nodes, "ANSWER_MOST", 50_000)
    assert "too large" in here.command("n2", "Report", REPORT).text
    monkeypatch.setattr(over_nodes, "PACKED_MOST", 50_000)
    there.recoveries = [{"time": 1.0, "notes": [random.Random(1).randbytes(100_000).hex()]}]
    assert "too large" in here.command("n2", "Report", REPORT).text


@pytest.mark.parametrize(
    ("options", "says"),
    [({"clustered": False}, "is in no cluster"), ({"may_ask": False}, "of the service's own user, of root and")],
)
def test_a_service_whose_commands_ask_nobody(options: dict[str, Any], says: str, town: Town) -> None:
    alone = Place(town, "n1", **options)
    code, text = alone.command("n1", "Report", REPORT)
    assert code and says in text
    with pytest.raises(Refused):
        alone.admin.Nodes(None, Call())


def test_before_it_is_a_member(town: Town) -> None:
    alone = Place(town, "n1")
    assert alone.command("n2", "Report", REPORT) == (PRECONDITION, over_nodes.NO_MEMBER)
    with pytest.raises(Refused, match="not in its cluster now"):
        alone.admin.Nodes(None, Call())
    assert alone.command("n1", "Report", REPORT).code == 0, "it answers for itself"
    with pytest.raises(api.NoAnswer, match="not in its cluster now"):
        alone.commands.ask("n2", "Report", b"", CALL_SECONDS, lambda: True)
