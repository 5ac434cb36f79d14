"""A node service and its worker, scripted by the test: real grpcio servers on unix sockets.

The journal lives in Node, so it outlives a worker as the real one does. An op is journaled (and its
sequence checked) before it is acknowledged; results that the client has not confirmed are kept and sent again
after a cut. What a test may change is in Script.
"""

from __future__ import annotations

import queue
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from standin_keeper import FakeKeeper
from toolkit.waiting import until

from jitc.proxy.common.paths import PROTOCOL_VERSION
from jitc.v1 import control_pb2, control_pb2_grpc, session_pb2

HEADER = struct.Struct("<IHHQQ")  # OpHeader
COMPLETION = struct.Struct("<IHHIIQQ")  # CompletionHeader
RESULT, ACK, PROGRESS, FAULT, NOTICE, RESTORED = range(1, 7)
WAITS = 1
COPY_D2H, OPERATOR_QUERY = 0x0204, 0x0402
KNOWN = 0x0108
STREAM_SYNCHRONIZE, DEVICE_SYNCHRONIZE, EVENT_SYNCHRONIZE = 0x0303, 0x0304, 0x0309
BASE = 0x2000_0000_0000


@dataclass(frozen=True)
class Record:
    op: int
    flags: int
    stream: int
    sequence: int
    body: bytes

    @property
    def payload(self) -> bytes:
        """Of CopyH2d (16 bytes of operands, whose second says how much) or OperatorQuery."""
        if self.op == 0x0203:
            size = int.from_bytes(self.body[8:16], "little")
            return self.body[16 : 16 + size]
        return self.body


def records(data: bytes) -> list[Record]:
    found, at = [], 0
    while at < len(data):
        size, op, flags, stream, sequence = HEADER.unpack_from(data, at)
        assert size >= HEADER.size and size % 8 == 0 and at + size <= len(data), "damaged record"
        found.append(Record(op, flags, stream, sequence, data[at + HEADER.size : at + size]))
        at += size
    return found


def completion(kind: int, stream: int = 0, sequence: int = 0, status: int = 0, payload: bytes = b"") -> bytes:
    padding = -len(payload) % 8
    size = COMPLETION.size + len(payload) + padding
    return COMPLETION.pack(size, kind, padding, status, 0, stream, sequence) + payload + bytes(padding)


def answer_of(record: Record) -> bytes:
    """The result: depends on the op alone, so that a resent one would show."""
    if record.op == COPY_D2H:
        return b"d2h" + record.body[:8] + record.sequence.to_bytes(8, "little")
    return record.body if record.op == OPERATOR_QUERY else b""


class Cut(Exception):
    """Raised by a script: the connection breaks here."""


@dataclass
class Script:
    """Hooks of a test. Each may raise Cut; a batch is [Record]."""

    on_batch: Callable[[list[Record]], None] = lambda batch: None  # before anything is journaled
    on_journaled: Callable[[list[Record]], None] = lambda batch: None  # before the ACK goes out
    on_completions: Callable[[list[Record]], None] = lambda batch: None  # before results go out
    on_sent: Callable[[list[Record]], None] = lambda batch: None  # after results went out
    on_open: Callable[[Any], None] = lambda context: None  # a stream comes; may abort
    attach: Callable[[Any, Any], None] = lambda request, context: None  # may abort
    describe: Callable[[Any, Any], None] = lambda request, context: None
    extra: Callable[[list[Record]], bytes] = lambda batch: b""  # completions to add
    withhold_results: bool = False
    withhold_progress: bool = False
    status: Callable[[Record], int] = lambda record: 0  # of its result
    first: bytes = b""  # completions at the start of a stream
    journal_part: Callable[[list[Record]], list[Record]] = lambda batch: batch


@dataclass
class Session:
    """What outlives a worker."""

    journal: list[Record] = field(default_factory=list)
    owed: dict[int, bytes] = field(default_factory=dict)  # results that the client has not confirmed

    def forget(self, received: int) -> None:
        for sequence in [sequence for sequence in self.owed if sequence <= received]:
            del self.owed[sequence]


class Node(control_pb2_grpc.NodeServicer):
    """Serves Node and, on a socket of its own, Session."""

    def __init__(self, folder: Path, gpus: int = 2) -> None:
        self.folder, self.gpus = folder, gpus
        self.socket = str(folder / "proxyd.sock")
        self.script = Script()
        self.sessions: dict[str, Session] = {}
        self.batches: list[int] = []  # sizes in records
        self.attached: list[Any] = []
        self.detached: list[str] = []
        self.opened: list[dict[str, str]] = []
        self.confirmed: list[int] = []
        self.described = 0
        self.check_order = False
        self.pinned: dict[str, Any] = {}  # of each session, as fields of the reply
        self.keeper = FakeKeeper(self.socket)
        self.worker_number = 0
        self.worker_socket = ""
        self._service: grpc.Server | None = None
        self._worker: grpc.Server | None = None

    @property
    def only(self) -> Session:
        """The session of a test that has one."""
        (session,) = self.sessions.values()
        return session

    @property
    def journal(self) -> list[Record]:
        return self.only.journal

    # -- life -------------------------------------------------------------------------------------

    def start(self) -> Node:
        self.start_service()
        self.start_worker()
        return self

    def start_service(self) -> None:
        server = grpc.server(ThreadPoolExecutor(4))
        control_pb2_grpc.add_NodeServicer_to_server(self, server)  # type: ignore[no-untyped-call]
        assert server.add_insecure_port(f"unix:{self.socket}")
        server.start()
        self._service = server

    def start_worker(self) -> None:
        self.worker_number += 1
        self.worker_socket = str(self.folder / f"worker{self.worker_number}.sock")
        limits = [("grpc.max_receive_message_length", 32 << 20), ("grpc.max_send_message_length", 32 << 20)]
        server = grpc.server(ThreadPoolExecutor(8), handlers=[_Worker(self)], options=limits)
        assert server.add_insecure_port(f"unix:{self.worker_socket}")
        server.start()
        self._worker = server

    def stop_service(self) -> None:
        if self._service is not None:
            self._service.stop(0).wait()
            self._service = None

    def stop_worker(self) -> None:
        if self._worker is not None:
            self._worker.stop(0).wait()
            self._worker = None

    def stop(self) -> None:
        self.stop_worker()
        self.stop_service()
        self.keeper.stop()

    def wait_journal(self, count: int, seconds: float = 20) -> list[Record]:
        until(lambda: len(self.journal) >= count, seconds, f"{count} ops in the journal")
        return self.journal

    # -- rpcs of Node -----------------------------------------------------------------------------

    def Describe(self, request: Any, context: Any) -> Any:
        self.described += 1
        self.script.describe(request, context)
        gpus = [
            control_pb2.Gpu(
                index=i, device="software", name="fake", uuid=f"{i:032x}", memory_total=1 << 34,
                capability_major=8, capability_minor=6, multiprocessors=4,
                attributes={1: 1024, 16: 132, 131: -1, 33: 0}, cudnn=i == 1, check_order=self.check_order,
            )
            for i in range(self.gpus)
        ]  # fmt: skip
        return control_pb2.DescribeReply(protocol_version=PROTOCOL_VERSION, gpus=gpus)

    def Attach(self, request: Any, context: Any) -> Any:
        self.attached.append(request)
        self.script.attach(request, context)
        token = request.token or f"{len(self.sessions) + 1:032x}"
        self.sessions.setdefault(token, Session())
        return control_pb2.AttachReply(
            session=int(token, 16), token=token, worker_socket=self.worker_socket,
            address_base=BASE + (request.gpu << 38), address_bytes=1 << 38, **self.pinned,
        )  # fmt: skip

    def Detach(self, request: Any, context: Any) -> Any:
        self.detached.append(request.token)
        return control_pb2.DetachReply()


class _Worker(grpc.GenericRpcHandler):  # type: ignore[type-arg]
    def __init__(self, node: Node) -> None:
        self._node = node

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        if details.method != "/jitc.v1.Session/Ops":
            return None
        return grpc.stream_stream_rpc_method_handler(self._ops)

    def _ops(self, batches: Iterator[bytes], context: Any) -> Iterator[bytes]:
        node, script = self._node, self._node.script
        metadata = {str(key): str(value) for key, value in context.invocation_metadata()}
        node.opened.append(metadata)
        script.on_open(context)
        session = node.sessions[metadata["jitc-session"]]
        self._confirm(session, int(metadata["jitc-results-received"]))
        owed = b"".join(completion(RESULT, 0, number, 0, result) for number, result in sorted(session.owed.items()))
        yield _batch(completion(ACK, sequence=len(session.journal)) + owed + script.first)
        out: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        reader = threading.Thread(target=self._read, args=(batches, session, out), daemon=True)
        reader.start()
        while (message := out.get()) is not None:
            yield message
        if context.is_active():
            context.abort(grpc.StatusCode.UNAVAILABLE, "cut by the test")

    def _confirm(self, session: Session, received: int) -> None:
        self._node.confirmed.append(received)
        session.forget(received)

    def _read(self, batches: Iterator[bytes], session: Session, out: queue.SimpleQueue[bytes | None]) -> None:
        try:
            for message in batches:
                parsed = session_pb2.OpBatch.FromString(message)
                self._confirm(session, parsed.results_received)
                self._take(records(parsed.records), session, out)
        except (Cut, grpc.RpcError):
            pass
        except Exception as error:
            if type(error) is not Exception:  # grpcio's own when the peer is gone is a bare one
                raise
        finally:
            out.put(None)

    def _take(self, batch: list[Record], session: Session, out: queue.SimpleQueue[bytes | None]) -> None:
        node, script = self._node, self._node.script
        script.on_batch(batch)
        node.batches.append(len(batch))
        part = script.journal_part(batch)
        for record in part:
            last = len(session.journal)
            assert record.sequence == last + 1, f"op {record.sequence} after {last}"
            session.journal.append(record)
            if record.flags & WAITS:
                session.owed[record.sequence] = answer_of(record)
        if len(part) < len(batch):
            raise Cut
        script.on_journaled(batch)
        out.put(_batch(completion(ACK, sequence=batch[-1].sequence)))
        script.on_completions(batch)
        results = b"".join(
            completion(RESULT, 0, record.sequence, script.status(record), session.owed[record.sequence])
            for record in batch
            if record.flags & WAITS and not script.withhold_results
        )
        last_of = {} if script.withhold_progress else {record.stream: record.sequence for record in batch}
        progress = b"".join(completion(PROGRESS, stream, sequence) for stream, sequence in last_of.items())
        out.put(_batch(results + progress + script.extra(batch)))
        script.on_sent(batch)


def _batch(data: bytes) -> bytes:
    return bytes(session_pb2.CompletionBatch(records=data).SerializeToString())
