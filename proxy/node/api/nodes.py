"""Requests of commands that another node is to answer, and those of other nodes' commands that this one answers.

Called by: admin.py (Nodes, AskNode); ../../cluster/commands.py, which carries them. Promises: no other request than one
of REQUESTS goes to another node, or is answered for one; a refusal of another node reaches the command as such; a node
that does not answer is known as such within the time of its request and NODE_SECONDS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn, Protocol

import grpc

from jitc.v1 import control_pb2

from ...common import rpc
from ...common.printable import LINE, printable

#: The methods of Admin that a node answers for another one's commands, with their requests.
REQUESTS: dict[str, type[Any]] = {
    "Status": control_pb2.StatusRequest, "Report": control_pb2.ReportRequest, "Inject": control_pb2.InjectRequest,
    "Validate": control_pb2.ValidationRequest, "ReturnGpu": control_pb2.ReturnGpuRequest,
}  # fmt: skip
#: Time of a node for an answer; its workers have five seconds of it (../../ranks/stats.py).
NODE_SECONDS = 8.0
#: The longest wait of a request (`wait_ms`) at another node, which does not learn that the command has been ended.
WAIT_MS_MOST = 600_000


class NoAnswer(Exception):
    """A node does not answer; the text says why."""


class Answer(NamedTuple):
    """The answer of a node. code: gRPC's, of a refusal, whose text says why; 0: the reply is there."""

    code: int
    text: str = ""
    reply: bytes = b""


class OtherNodes(Protocol):
    """The way to other nodes (../../cluster/commands.py)."""

    def others(self) -> Sequence[str]:
        """Returns the names of the other nodes. Raises NoAnswer."""

    def ask(self, node: str, method: str, request: bytes, seconds: float, wanted: Callable[[], bool]) -> Answer:
        """Waits for a node's answer, as long as it is wanted. Raises NoAnswer."""


class Context:
    """The context of a call, for a handler whose refusal is part of an answer."""

    def __init__(self, is_active: Callable[[], bool]) -> None:
        self.is_active = is_active
        self.refusal: Answer | None = None

    def abort(self, code: grpc.StatusCode, text: str) -> NoReturn:
        self.refusal = Answer(code.value[0], text)
        raise rpc.Refused(text)


def answered(service: Any, method: str, request: bytes, is_active: Callable[[], bool]) -> Answer:
    """Returns the answer to a request. service: the AdminService; is_active: says whether the caller still waits."""
    context = Context(is_active)
    kind = REQUESTS.get(method)
    if kind is None:
        return Answer(grpc.StatusCode.INVALID_ARGUMENT.value[0], f"{printable(method, LINE)} is not for other nodes")
    try:
        reply = getattr(service, method)(kind.FromString(request), context)
        return Answer(0, "", reply.SerializeToString())
    except rpc.Refused:
        assert context.refusal is not None
        return context.refusal
    except Exception as error:
        return Answer(grpc.StatusCode.INTERNAL.value[0], printable(f"{method}: {error!r}", LINE))


def limited(method: str, request: bytes) -> tuple[bytes, float]:
    """Returns a request as it goes to another node, and the seconds that the answer may take. Raises ValueError for one
    that cannot be read, or that is none of these."""
    kind = REQUESTS.get(method)
    if kind is None:
        raise ValueError(f"{printable(method, LINE)} is not for other nodes")
    try:
        found = kind.FromString(request)
    except Exception as error:  # of protobuf's own kinds
        raise ValueError(f"the request cannot be read: {printable(str(error), LINE)}") from None
    wait_ms = min(getattr(found, "wait_ms", 0), WAIT_MS_MOST)
    if hasattr(found, "wait_ms"):
        found.wait_ms = wait_ms
    return found.SerializeToString(), wait_ms / 1000 + NODE_SECONDS
