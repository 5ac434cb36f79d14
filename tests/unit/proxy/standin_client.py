"""A training process and a service's configuration for tests with stand-in workers."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc
from toolkit.program import Program

from jitc.proxy.common import rpc
from jitc.proxy.common.config import Config
from jitc.proxy.common.executor import Shared
from jitc.proxy.common.paths import PROTOCOL_VERSION
from jitc.proxy.node.session import Session
from jitc.proxy.service import Service
from jitc.v1 import control_pb2

STANDIN = Path(__file__).with_name("standin.py")
#: jitc-proxyd with stand-in workers.
PROXYD = [sys.executable, str(Path(__file__).with_name("standin_proxyd.py"))]

#: Of one op stream: a program that is never answered is an error of its test, not a run without an end.
STREAM_SECONDS = 200.0


def config(directory: Path, **changes: Any) -> Config:
    values: dict[str, Any] = {
        "socket": str(directory / "s"),
        "gpus": 2,
        "validate_every": 0,
        "journal_bytes": 1 << 20,
        "snapshot_bytes": 1 << 20,
        "worker": [sys.executable, str(STANDIN)],
        "shared": structures,
    }
    return Config(**(values | changes))


#: What the service has said in segments: path, rank, why.
absences: list[tuple[str, int, str]] = []
#: What ranks have said there: how often each has let go, by path and rank.
letting_go: dict[tuple[str, int], int] = {}


def _fresh_segment(path: str, identity: int) -> None:
    """Nobody has let go of it, whoever was in another one with its path before."""
    for place in [place for place in letting_go if place[0] == path]:
        del letting_go[place]


def structures() -> Shared:
    """As the library has them, without a library."""
    return Shared(
        board_bytes=4096,
        segment_bytes=lambda ranks: 4096 * ranks,
        clear_slot=lambda board, slot: None,
        mark_segment=_fresh_segment,
        mark_absent=lambda *absence: absences.append(absence),
        cut_segment=lambda segment, why: None,
        ranks_left=lambda segment, ranks: [letting_go.get((segment, rank), 0) for rank in range(ranks)],
    )


@contextlib.contextmanager
def started(one: Service) -> Iterator[Service]:
    try:
        one.start()
        yield one
    finally:
        one.stop()


class Client:
    """A training process as the service and a worker see it: attaches, sends ops, sends again after a loss."""

    def __init__(self, service: Service, gpu: int = 0, **changes: Any) -> None:
        self.link = rpc.channel(service.config.socket)
        self.node, self.admin = rpc.node(self.link), rpc.admin(self.link)
        self.sent: list[dict[str, Any]] = []
        self.program = Program(service.config.socket)
        values = {
            "protocol_version": PROTOCOL_VERSION,
            "gpu": gpu,
            "program": self.program.ticket,
            "pid": os.getpid(),
            "rank": -1,
            "wait_ms": 20000,
        } | changes
        self.request = control_pb2.AttachRequest(**values)
        self.reply = self.node.Attach(self.request, timeout=30)
        self.request.token = self.reply.token
        self.connect()

    def connect(self) -> None:
        self.out: SimpleQueue[bytes | None] = SimpleQueue()
        self.channel = rpc.channel(self.reply.worker_socket)
        self.replies = stream(self.channel, iter(self.out.get, None), self.reply.token)
        acked = json.loads(next(self.replies))["ack"]
        for op in self.sent:
            if op["seq"] > acked:
                self.out.put(json.dumps(op).encode())

    def send(self, op: str, **fields: Any) -> int:
        self.sent.append({"seq": len(self.sent) + 1, "op": op} | fields)
        self.out.put(json.dumps(self.sent[-1]).encode())
        return len(self.sent)

    def call(self, op: str, **fields: Any) -> dict[str, Any]:
        """The answer, however often the worker is lost meanwhile."""
        sequence = self.send(op, **fields)
        while True:
            try:
                for message in self.replies:
                    document: dict[str, Any] = json.loads(message)
                    if document.get("seq") == sequence or "fault" in document:
                        return document
            except grpc.RpcError as error:
                call: Any = error
                assert call.code() == grpc.StatusCode.UNAVAILABLE, error
            self.reconnect()

    def reconnect(self) -> None:
        """Until it stands: what Attach answers may have died a moment later."""
        while True:
            self.close_stream()
            self.reply = self.node.Attach(self.request, timeout=30)
            try:
                return self.connect()
            except grpc.RpcError as error:
                call: Any = error
                assert call.code() == grpc.StatusCode.UNAVAILABLE, error

    def close_stream(self) -> None:
        self.out.put(None)
        self.replies.cancel()
        self.channel.close()

    def close(self) -> None:
        self.close_stream()
        self.node.Detach(control_pb2.DetachRequest(token=self.reply.token), timeout=30)
        self.link.close()
        self.program.close()

    def die(self) -> None:
        """As a process that was killed: it says nothing, and the kernel closes what it had open."""
        self.close_stream()
        self.link.close()
        self.program.close()


def stream(channel: grpc.Channel, batches: Any, token: str, **metadata: str) -> Any:
    method: Any = channel.stream_stream("/jitc.v1.Session/Ops")
    pairs = {"jitc-protocol": str(PROTOCOL_VERSION), "jitc-session": token, "jitc-results-received": "0"}
    pairs |= {name.replace("_", "-"): value for name, value in metadata.items()}
    return method(batches, metadata=list(pairs.items()), timeout=STREAM_SECONDS)


def worker_of(service: Service, gpu: int) -> Any:
    """The first session's worker, else the one that waits for a session; None while there is none."""
    return next(iter(service.registry.workers_of(service.registry.gpus[gpu])), None)


def wait_until(service: Service, condition: Any) -> None:
    """Waits for a change of the service's state, at most 20 s."""
    with service.registry.changed:
        assert service.registry.changed.wait_for(condition, 20)


def work(client: Client) -> None:
    """A boundary, with work before and after it."""
    client.send("add", value=5)
    client.send("boundary")
    client.send("add", value=3)
    assert client.call("get")["value"] == 8


def session_of(service: Service, client: Client) -> Session:
    session = service.registry.by_token(client.reply.token)
    assert session is not None
    return session
