"""Whom a command asks: the service on this machine, or through it that of another node of its cluster, or those of all.

Called by: command.py, ../terminal. Promises: a node that does not answer is an error with the exit status of a service
that does not, if it was named, and else an entry of the document; documents of several nodes become one of the same
form, in which each part has its node.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..options import NO_SERVICE, CommandError, chosen_socket
from .ask import CALL_SECONDS, ask, ask_together, exit_status

#: Nodes that are asked at a time: half of the places that a service has for commands of other nodes.
AT_ONCE = 32
#: Time that a node may take more than the service that asks it (NODE_SECONDS of proxy/node/api/nodes.py).
NODE_SECONDS = 10.0
#: The lists of a report.
_EVENTS = ("recoveries", "validations", "divergences", "races", "injected")
_JSON = ("Status", "Report", "Validate")


class NodeSilent(CommandError):
    """The node that was named does not answer."""

    def __init__(self, node: str, why: str) -> None:
        super().__init__(f"node {node} does not answer: {why}", NO_SERVICE)


@dataclass(frozen=True)
class Whom:
    """socket: of the service, None: the usual one; node: the one that is to answer, None: this one; every: all nodes
    are."""

    socket: str | None
    node: str | None = None
    every: bool = False

    def on(self) -> str:
        """Returns the words that name the node after a GPU; empty if none was named."""
        return f" of node {self.node}" if self.node is not None else ""

    def chosen(self) -> Whom:
        """Returns the same with the socket that is chosen now, whatever happens to it later."""
        return Whom(chosen_socket(self.socket), self.node, self.every)

    def ask(
        self, method: str, request: Any, seconds: float | None = CALL_SECONDS, *, waits: bool = True
    ) -> Any:  # fmt: skip
        """Returns the reply. waits: for a service that begins. Raises CommandError."""
        if self.node is None:
            return ask(self.socket, method, request, seconds, waits=waits)
        longer = seconds and seconds + NODE_SECONDS
        answer = ask(self.socket, "AskNode", _asking(self.node, method, request), longer, waits=waits)
        return _reply(self.node, method, answer)

    def document(self, method: str, request: Any, *, waits: bool = True) -> dict[str, Any]:
        """Returns the document of `Status` or `Report`. Raises CommandError."""
        if not self.every:
            found: dict[str, Any] = json.loads(self.ask(method, request, waits=waits).json)
            return found
        return merged(self._all(method, request, waits))

    def _all(self, method: str, request: Any, waits: bool) -> list[tuple[str, dict[str, Any] | str]]:
        """Returns the document of each node, or why it does not answer."""
        from jitc.v1.control_pb2 import NodesRequest

        known = ask(self.socket, "Nodes", NodesRequest(), waits=waits)
        names = sorted([known.node, *known.others])
        replies = []
        for at in range(0, len(names), AT_ONCE):
            requests = [_asking(name, method, request) for name in names[at : at + AT_ONCE]]
            replies += ask_together(self.socket, "AskNode", requests, CALL_SECONDS + NODE_SECONDS, waits=waits)
        return [(name, _document(name, method, reply)) for name, reply in zip(names, replies, strict=True)]


def merged(answers: Sequence[tuple[str, dict[str, Any] | str]]) -> dict[str, Any]:
    """Returns one document of those of several nodes. answers: by node, each a document, or why there is none. Raises
    CommandError if there is none at all."""
    documents = [one for _, one in answers if not isinstance(one, str)]
    nodes = [{"node": name, "trouble": one if isinstance(one, str) else ""} for name, one in answers]
    if not documents:
        raise CommandError("; ".join(f"node {name} does not answer: {why}" for name, why in answers))
    if "gpus" in documents[0]:
        return _status(documents) | {"nodes": nodes}
    lists = {kind: [each for one in documents for each in one[kind]] for kind in _EVENTS}
    return {**{kind: sorted(some, key=lambda one: one["time"]) for kind, some in lists.items()}, "nodes": nodes}


def _status(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    copies = {name: sum(one["copies"][name] for one in documents) for name in ("held_bytes", "limit_bytes")}
    return {
        "gpus": [gpu for one in documents for gpu in one["gpus"]],
        "copies": copies,
        "shuffle": next((one["shuffle"] for one in documents if one["shuffle"]), 0),
        "started": max(one["started"] for one in documents),
    }


def _asking(node: str, method: str, request: Any) -> Any:
    from jitc.v1.control_pb2 import AskNodeRequest

    return AskNodeRequest(node=node, method=method, request=request.SerializeToString())


def _reply(node: str, method: str, answer: Any) -> Any:
    """Returns a node's reply. Raises CommandError."""
    from jitc.v1 import control_pb2

    if answer.trouble:
        raise NodeSilent(node, answer.trouble)
    if answer.code:
        raise CommandError(f"node {node}: {answer.text}", exit_status(answer.code))
    kind = control_pb2.JsonReply if method in _JSON else getattr(control_pb2, f"{method}Reply")
    return kind.FromString(answer.reply)


def _document(node: str, method: str, answer: Any) -> dict[str, Any] | str:
    try:
        found: dict[str, Any] = json.loads(_reply(node, method, answer).json)
        return found
    except NodeSilent:
        return str(answer.trouble)
    except CommandError as error:
        return str(error).removeprefix(f"node {node}: ")
