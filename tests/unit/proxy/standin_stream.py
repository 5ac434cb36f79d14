"""Session.Ops for stand-in workers: what the executor's server (proxy/native/executor/server) does, by grpcio.

One owner per session at a time; a malformed batch ends its own stream only, with the executor's text.

Two threads serve a stream: grpcio's handler thread waits in the executor for completions and sends them; a reader
thread hands batches to the executor. One thread cannot do both, because grpcio's request iterator blocks; both blocking
waits are outside the GIL.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import grpc

from jitc.proxy.common import rpc
from jitc.proxy.common.executor import ExecutorError
from jitc.proxy.common.paths import PROTOCOL_VERSION
from jitc.proxy.common.rpc import refuse, version_message

METHOD = "/jitc.v1.Session/Ops"
#: The longest sleep of poll, which returns at once when completions come or the stream is detached.
POLL_MS = 2000
#: How long a client that reconnects waits for its own old stream to end.
HANDOVER_SECONDS = 2.0


class Owners:
    """Which stream owns which session."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sessions: dict[str, int] = {}
        self._streams: dict[int, OpStream] = {}

    def add(self, token: str, session: int) -> None:
        with self._changed:
            self._sessions[token] = session

    def remove(self, session: int) -> None:
        with self._changed:
            self._sessions = {token: number for token, number in self._sessions.items() if number != session}
            stream = self._streams.get(session)
        if stream is not None:
            stream.end()

    def session(self, token: str) -> int | None:
        with self._changed:
            return self._sessions.get(token)

    def claim(self, stream: OpStream) -> bool:
        """Makes the stream the session's owner. Waits for an owner that is ending; returns False when another one is
        connected."""
        with self._changed:

            def free() -> bool:
                return stream.session not in self._streams

            if not free() and self._streams[stream.session].connected():
                # The server may learn of a broken connection after its client is back.
                self._changed.wait_for(free, HANDOVER_SECONDS / 4)
            if not free() and not self._streams[stream.session].connected():
                self._changed.wait_for(free, HANDOVER_SECONDS)
            if not free():
                return False
            self._streams[stream.session] = stream
            return True

    def release(self, stream: OpStream) -> None:
        with self._changed:
            if self._streams.get(stream.session) is stream:
                del self._streams[stream.session]
            self._changed.notify_all()


@dataclass(eq=False)
class OpStream:
    """One connected stream."""

    executor: Any
    session: int
    context: Any
    malformed: str = ""
    _ended: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def connected(self) -> bool:
        return not self._ended and bool(self.context.is_active())

    def end(self) -> None:
        """Wakes both threads. Called when the gRPC call is over for any reason; only the first call has an effect."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
        self.executor.detach(self.session)

    def read(self, batches: Iterator[bytes]) -> None:
        submit, session = self.executor.submit, self.session
        try:
            for batch in batches:
                submit(session, batch)
        except ExecutorError as error:
            if not self._ended:
                self.malformed = str(error)
        except Exception as error:  # grpcio raises a bare Exception when the peer is gone
            if self.connected():
                self.malformed = f"stream broken: {error}"
        finally:
            self.end()


class SessionHandler(grpc.GenericRpcHandler):  # type: ignore[type-arg]
    """Serves this one method; all others are left to the other handlers."""

    def __init__(self, executor: Any, owners: Owners) -> None:
        self._executor = executor
        self._owners = owners
        self._method = grpc.stream_stream_rpc_method_handler(self._ops)

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        return self._method if handler_call_details.method == METHOD else None

    def _ops(self, batches: Iterator[bytes], context: Any) -> Iterator[bytes]:
        stream, received = self._admit(context)
        try:
            stream.executor.attach(stream.session, received)
        except ExecutorError as error:
            self._owners.release(stream)
            refuse(context, grpc.StatusCode.ALREADY_EXISTS, str(error))
        reader = threading.Thread(target=stream.read, args=(batches,), name="jitc-reader", daemon=True)
        try:
            reader.start()
            if not context.add_callback(stream.end):
                stream.end()
            next_batch = stream.executor.poller(stream.session, POLL_MS)
            while (completions := next_batch()) is not None:
                if completions:
                    yield completions
        finally:
            stream.end()
            if reader.ident is not None and not context.is_active():
                reader.join()
            self._owners.release(stream)
        if stream.malformed:
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, stream.malformed)

    def _admit(self, context: Any) -> tuple[OpStream, int]:
        metadata = {str(key): value for key, value in context.invocation_metadata()}
        version = metadata.get("jitc-protocol", "")
        if version != str(PROTOCOL_VERSION):
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, version_message(version))
        session = self._owners.session(str(metadata.get("jitc-session", "")))
        if session is None:
            refuse(context, grpc.StatusCode.NOT_FOUND, "this worker does not serve that session; attach again")
        received = str(metadata.get("jitc-results-received", "0"))
        if not received.isdecimal():
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, f"jitc-results-received is no number: {received[:40]}")
        stream = OpStream(self._executor, session, context)
        if not self._owners.claim(stream):
            refuse(context, grpc.StatusCode.ALREADY_EXISTS, "another process is connected to this session")
        return stream, int(received)


def serve_op_streams(socket: str, executor: Any, owners: Owners) -> grpc.Server:
    server = grpc.server(
        ThreadPoolExecutor(32, "standin-ops"),
        handlers=[SessionHandler(executor, owners)],
        options=rpc.SERVER_OPTIONS,
        compression=grpc.Compression.NoCompression,
    )
    server.add_insecure_port(rpc.address(socket))
    server.start()
    return server
