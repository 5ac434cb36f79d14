"""A training process with real device ops, for tests against the real executor: encodes, attaches, resends."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc
from standin_client import stream
from toolkit.program import Program

from jitc.ops.generated_names import FORMATS, IDS
from jitc.proxy.common import rpc
from jitc.proxy.common.config import Config
from jitc.proxy.common.paths import PROTOCOL_VERSION
from jitc.proxy.service import Service
from jitc.v1 import control_pb2, session_pb2

HEADER = struct.Struct("<IHHQQ")
COMPLETION = struct.Struct("<IHHIIQQ")
RESULT, ACK, PROGRESS, FAULT, NOTICE = range(1, 6)
WAITS = ("allocate", "copy_d2h", "device_synchronize", "memory_info", "communicator_create")
ALLOCATION = 2 << 20
#: Blocks of a rank (offset, bytes): what steps shift, and what all-reduces double.
STATE, COUNTER = (0, 64), (256, 4)


@contextmanager
def serving(directory: Path, **options: Any) -> Iterator[Service]:
    """A service on the real executor, which has ended when the block is left. options: of its configuration."""
    values = {"gpus": 2, "snapshot_bytes": 1 << 30, "threads": 1, "validate_every": 0} | options
    service = Service(Config(socket=str(directory / "s"), **values))
    try:
        service.start()
        yield service
    finally:
        service.stop()


class RealClient:
    """One session. Results are kept by sequence; a lost worker is followed to its successor."""

    #: Seconds for which a service that has gone is waited for.
    patience = 0.0

    def __init__(self, service: Service, gpu: int = 0, rank: int = -1, world_size: int = 0) -> None:
        self.link = rpc.channel(service.config.socket)
        self.node, self.admin = rpc.node(self.link), rpc.admin(self.link)
        self.request = control_pb2.AttachRequest(
            protocol_version=PROTOCOL_VERSION, gpu=gpu, pid=os.getpid(), rank=rank, world_size=world_size, wait_ms=20000
        )
        self.socket, self.program = service.config.socket, Program(service.config.socket, self.patience)
        self.reply = self.asked(self.node.Attach, self.request)
        self.request.token = self.reply.token
        self.sequence = self.boundaries = 0
        self.unacknowledged: list[tuple[int, bytes]] = []
        self.results: dict[int, tuple[int, bytes]] = {}
        self.fault: tuple[int, str] | None = None
        self.notices: list[str] = []
        try:
            self.connect()
        except grpc.RpcError as error:  # its worker has died since
            assert rpc.status_of(error)[0] is grpc.StatusCode.UNAVAILABLE, error
            self.reconnect()

    @property
    def base(self) -> int:
        return int(self.reply.address_base)

    def asked(self, method: Any, request: Any) -> Any:
        deadline = time.monotonic() + self.patience
        while True:
            if request is self.request:
                self.introduce()
            try:
                return method(request, timeout=30, wait_for_ready=self.patience > 0)
            except grpc.RpcError as error:
                if rpc.status_of(error)[0] is not grpc.StatusCode.UNAVAILABLE or time.monotonic() > deadline:
                    raise

    def introduce(self) -> None:
        """To the keeper; one without a service and without programs that were served has ended, or it was killed."""
        if not self.program.stands():
            self.program.close()
            self.program = Program(self.socket, self.patience)
        self.request.program = self.program.ticket

    def connect(self) -> None:
        self.out: SimpleQueue[bytes | None] = SimpleQueue()
        self.channel = rpc.channel(self.reply.worker_socket)
        received = max(self.results, default=0)
        self.replies = stream(
            self.channel, iter(self.out.get, None), self.reply.token, jitc_results_received=str(received)
        )
        self.take(next(self.replies))
        for _, batch in self.unacknowledged:
            self.out.put(batch)

    def send(self, name: str, *operands: Any, payload: bytes = b"") -> int:
        self.sequence += 1
        body = struct.pack(FORMATS[name], *operands) + payload
        body += bytes(-len(body) % 8)
        header = HEADER.pack(HEADER.size + len(body), IDS[name], name in WAITS, 0, self.sequence)
        batch = session_pb2.OpBatch(
            records=header + body, results_received=max(self.results, default=0)
        ).SerializeToString()
        self.unacknowledged.append((self.sequence, batch))
        self.out.put(batch)
        return self.sequence

    def call(self, name: str, *operands: Any, payload: bytes = b"") -> bytes:
        return self.wait(self.send(name, *operands, payload=payload))

    def wait(self, sequence: int) -> bytes:
        while sequence not in self.results and self.fault is None:
            try:
                self.take(next(self.replies))
            except grpc.RpcError as error:
                assert rpc.status_of(error)[0] is grpc.StatusCode.UNAVAILABLE, error
                self.reconnect()
        assert self.fault is None, self.fault
        status, payload = self.results[sequence]
        assert status == 0, (sequence, status, payload)
        return payload

    def reconnect(self) -> None:
        while True:
            self.close_stream()
            self.reply = self.asked(self.node.Attach, self.request)
            try:
                return self.connect()
            except grpc.RpcError as error:
                assert rpc.status_of(error)[0] is grpc.StatusCode.UNAVAILABLE, error

    def take(self, message: bytes) -> None:
        records = session_pb2.CompletionBatch.FromString(message).records
        at = 0
        while at < len(records):
            size, kind, padding, status, _, _, sequence = COMPLETION.unpack_from(records, at)
            payload = records[at + COMPLETION.size : at + size - padding]
            if kind == RESULT:
                assert sequence not in self.results, "a result came twice"
                self.results[sequence] = status, payload
            elif kind == ACK:
                self.unacknowledged = [one for one in self.unacknowledged if one[0] > sequence]
            elif kind == FAULT:
                self.fault = status, payload.decode()
            elif kind == NOTICE:
                self.notices.append(payload.decode())
            at += size

    # -- a tiny training job ------------------------------------------------------------------------

    def start(self) -> None:
        self.call("allocate", self.base, ALLOCATION)
        self.write(0, bytes(64))

    def write(self, offset: int, data: bytes) -> None:
        self.send("copy_h2d", self.base + offset, len(data), payload=data)

    def read(self, offset: int, size: int) -> bytes:
        return self.call("copy_d2h", self.base + offset, size, 0, 0)

    def step(self, *live: tuple[int, int]) -> None:
        """Shifts the state by one byte inside an optimizer step."""
        self.write(128, self.boundaries.to_bytes(8, "little"))
        self.send("step_begin", self.boundaries + 1)
        self.send("copy_d2d", self.base + 64, self.base, 56)
        self.send("copy_d2d", self.base + 8, self.base + 64, 56)
        self.send("copy_d2d", self.base, self.base + 128, 8)
        self.boundaries += 1
        rows = b"".join(struct.pack("<QQQ", self.base + at, size, n) for n, (at, size) in enumerate(live))
        self.send("boundary", self.boundaries, len(live), payload=rows)

    def close_stream(self) -> None:
        self.out.put(None)
        self.replies.cancel()
        self.channel.close()

    def close(self) -> None:
        self.close_stream()
        try:
            self.asked(self.node.Detach, control_pb2.DetachRequest(token=self.reply.token))
        except grpc.RpcError as error:  # the service that has closed it ended before it said so
            if not self.patience or rpc.status_of(error)[0] is not grpc.StatusCode.NOT_FOUND:
                raise
        self.link.close()
        self.program.close()


# -- what tests do with them ---------------------------------------------------------------------


def expected(steps: int) -> bytes:
    return b"".join(number.to_bytes(8, "little") for number in reversed(range(steps)))[:64].ljust(64, b"\0")


def inject(client: RealClient, kind: str, wait: float = 0, **where: Any) -> Any:
    fault = control_pb2.Fault(kind=kind, **where)
    request = control_pb2.InjectRequest(gpu=client.request.gpu, fault=fault, wait_ms=int(wait * 1000))
    return client.admin.Inject(request, timeout=30)


def together(service: Service) -> list[RealClient]:
    """Two ranks that have joined a communicator."""
    ranks = [RealClient(service, gpu, rank=gpu, world_size=2) for gpu in (0, 1)]
    for client in ranks:
        client.start()
    joins = [client.send("communicator_create", 7, 2, n, b"u" * 128) for n, client in enumerate(ranks)]
    for client, sequence in zip(ranks, joins, strict=True):
        client.wait(sequence)
    return ranks


def states(ranks: list[RealClient]) -> list[tuple[bytes, bytes]]:
    """State and counter of each rank; read at once, as each rank's work needs the other's."""
    with ThreadPoolExecutor(2) as both:
        return list(both.map(lambda client: (client.read(*STATE), client.read(*COUNTER)), ranks))


def reduce(client: RealClient) -> None:
    """Doubles a counter by an all-reduce (sum of int32) over two ranks that hold the same."""
    if not client.boundaries:
        client.write(256, (1).to_bytes(4, "little"))
    at = client.base + 256
    item = struct.pack("<QIIIiQQQdQ", 7, 0, 2, 0, -1, 1, at, at, 1.0, 0)
    client.send("collective", 1, payload=item)


def train(ranks: list[RealClient], steps: int = 1) -> None:
    """Steps of two ranks that have joined a communicator."""
    for _ in range(steps):
        for client in ranks:
            reduce(client)
            client.step(STATE, COUNTER)


def check(ranks: list[RealClient], steps: int) -> None:
    """That they hold what they must after so many steps."""
    assert states(ranks) == [(expected(steps), (2**steps).to_bytes(4, "little"))] * 2
