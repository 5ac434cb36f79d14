"""A client that speaks the protocol by hand, so that it can also speak it wrongly."""

from __future__ import annotations

import os
import queue
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import grpc

from jitc.v1 import control_pb2, control_pb2_grpc, session_pb2

from .program import Program

VERSION = 4
HEADER = struct.Struct("<IHHQQ")  # size, op, flags, stream, sequence
COMPLETION = struct.Struct("<IHHIIQQ")  # size, kind, padding, status, reserved, stream, sequence
RESULT, ACK, PROGRESS, FAULT, NOTICE = range(1, 6)
WAIT = 1
ALLOCATE, COPY_H2D, COPY_D2H, STREAM_SYNCHRONIZE, EVENT_RECORD = 0x0201, 0x0203, 0x0204, 0x0303, 0x0307
MEMORY_HOLD, MEMORY_MAP = 0x020D, 0x020E
SECONDS = 20.0


def op(number: int, sequence: int, operands: bytes = b"", flags: int = 0, size: int | None = None) -> bytes:
    """One record; size: what its header claims, if not the truth."""
    body = operands + bytes(-len(operands) % 8)
    return HEADER.pack(size if size is not None else HEADER.size + len(body), number, flags, 0, sequence) + body


@dataclass(frozen=True)
class Completion:
    kind: int
    status: int
    sequence: int
    payload: bytes


def completions(records: bytes) -> Iterator[Completion]:
    at = 0
    while at < len(records):
        size, kind, padding, status, _, _, sequence = COMPLETION.unpack_from(records, at)
        yield Completion(kind, status, sequence, records[at + COMPLETION.size : at + size - padding])
        at += size


def node(socket: Path) -> tuple[grpc.Channel, Any]:
    channel = grpc.insecure_channel(f"unix:{socket}")
    return channel, control_pb2_grpc.NodeStub(channel)


#: What keeps the sessions of this process alive, by token.
_programs: dict[str, Program] = {}


def attach(socket: Path, gpu: int = 0, version: int = VERSION, token: str = "") -> control_pb2.AttachReply:
    channel, stub = node(socket)
    program = Program(socket)
    with channel:
        request = control_pb2.AttachRequest(
            protocol_version=version, gpu=gpu, pid=os.getpid(), rank=-1, token=token, wait_ms=10000,
            program=program.ticket,
        )  # fmt: skip
        try:
            reply: control_pb2.AttachReply = stub.Attach(request, timeout=SECONDS)
        except grpc.RpcError:
            program.close()
            raise
    if reply.token in _programs:
        program.close()
    else:
        _programs[reply.token] = program
    return reply


def detach(socket: Path, token: str) -> None:
    channel, stub = node(socket)
    with channel:
        stub.Detach(control_pb2.DetachRequest(token=token), timeout=SECONDS)
    _programs.pop(token).close()


class OpStream:
    """The op stream of one session."""

    def __init__(self, session: control_pb2.AttachReply, version: int = VERSION, received: int = 0) -> None:
        # A connection of its own: a worker serves one stream on each.
        own = [("grpc.use_local_subchannel_pool", 1)]
        self._channel = grpc.insecure_channel(f"unix:{session.worker_socket}", options=own)
        self._queue: queue.Queue[bytes | None] = queue.Queue()
        call = self._channel.stream_stream("/jitc.v1.Session/Ops", None, None)
        metadata = (
            ("jitc-protocol", str(version)), ("jitc-session", session.token), ("jitc-results-received", str(received)),
        )  # fmt: skip
        self.call = call(iter(self._queue.get, None), metadata=metadata, timeout=SECONDS)
        self._completions = self._read()  # what came in one message is not lost between two receive()

    def __enter__(self) -> OpStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._queue.put(None)
        self.call.cancel()
        self._channel.close()

    def send(self, records: bytes) -> None:
        self.send_raw(session_pb2.OpBatch(records=records).SerializeToString())

    def send_raw(self, message: bytes) -> None:
        self._queue.put(message)

    def finish(self) -> None:
        """Sends nothing more; the worker ends the stream when it has read everything."""
        self._queue.put(None)

    def _read(self) -> Iterator[Completion]:
        for message in self.call:
            yield from completions(session_pb2.CompletionBatch.FromString(message).records)

    def receive(self, kind: int, sequence: int = 0) -> Completion:
        """The next completion of the kind (of this op or a later one); others are passed over."""
        for one in self._completions:
            if one.kind == kind and one.sequence >= sequence:
                return one
        raise AssertionError("the stream ended")

    def error(self) -> tuple[grpc.StatusCode, str]:
        """How the stream ends."""
        try:
            for _ in self.call:
                pass
        except grpc.RpcError as error:
            call: Any = error
            return call.code(), call.details() or ""
        return grpc.StatusCode.OK, ""
