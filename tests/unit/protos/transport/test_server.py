"""The server's half of the transport: stock grpcio clients, our own client, and peers that break the rules."""

from __future__ import annotations

import os
import queue
import socket
import stat
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from server_binding import NativeServer, ServedCall

METHOD = "/test.Echo/Stream"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
OPTIONS = [
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.max_send_message_length", 64 << 20),
    ("grpc.use_local_subchannel_pool", 1),  # a connection of its own
]


def echo(call: ServedCall, message: bytes) -> None:
    call.send(message)


@pytest.fixture
def served(folder: Path) -> Iterator[NativeServer]:
    server = NativeServer(str(folder / "s"), echo)
    yield server
    server.stop()
    assert not (folder / "s").exists()


class Client:
    """A stock grpcio client with one stream."""

    def __init__(self, folder: Path, method: str = METHOD, metadata: tuple[tuple[str, str], ...] = ()) -> None:
        self._out: queue.Queue[bytes | None] = queue.Queue()
        self.channel = grpc.insecure_channel(f"unix:{folder / 's'}", options=OPTIONS)
        call: Any = self.channel.stream_stream(method)
        self.replies = call(iter(self._out.get, None), metadata=metadata, timeout=30)

    def send(self, *messages: bytes) -> None:
        for one in messages:
            self._out.put(one)

    def half_close(self) -> None:
        self._out.put(None)

    def close(self) -> None:
        self._out.put(None)
        self.replies.cancel()
        self.channel.close()


@pytest.fixture
def client(folder: Path, served: NativeServer) -> Iterator[Client]:
    made = Client(folder, metadata=(("jitc-test", "x y"),))
    yield made
    made.close()


def test_messages_of_any_size_come_back(served: NativeServer, client: Client) -> None:
    messages = [b"", b"a", os.urandom(100_000), os.urandom(5 << 20), b"z" * 16384, os.urandom(20 << 20)]
    client.send(*messages)
    assert [next(client.replies) for _ in messages] == messages
    assert served.call().metadata["jitc-test"] == "x y"


def test_a_client_that_has_said_all_is_answered_with_ok(served: NativeServer, client: Client) -> None:
    client.send(b"one", b"two")
    client.half_close()
    assert list(client.replies) == [b"one", b"two"]
    assert client.replies.code() is grpc.StatusCode.OK
    assert served.call().closed.wait(20)


def test_the_server_ends_a_call(served: NativeServer, client: Client) -> None:
    client.send(b"one")
    assert next(client.replies) == b"one"
    served.call().finish(3, "not that: 100 % wrong, \u00fc")
    with pytest.raises(grpc.RpcError) as refused:
        next(client.replies)
    assert (refused.value.code(), refused.value.details()) == (  # type: ignore[attr-defined]
        grpc.StatusCode.INVALID_ARGUMENT,
        "not that: 100 % wrong, \u00fc",
    )
    assert served.call().closed.wait(20)


def test_what_is_to_be_sent_goes_out_before_the_end(served: NativeServer, client: Client) -> None:
    client.send(b"one")
    assert next(client.replies) == b"one"
    served.call().send(b"two", b"three", b"END")
    assert list(client.replies) == [b"two", b"three"]
    assert client.replies.code() is grpc.StatusCode.OK


def test_later(served: NativeServer, client: Client) -> None:
    client.send(b"one")
    assert next(client.replies) == b"one"
    served.call().send_after(0.01, b"two")
    assert next(client.replies) == b"two"
    served.call().send_after(0, b"three")
    assert next(client.replies) == b"three"


def test_messages_from_many_threads(served: NativeServer, client: Client) -> None:
    """Whoever sends while another thread is at it leaves its message to that one: none is forgotten."""
    client.send(b"one")
    assert next(client.replies) == b"one"
    call, count = served.call(), 500
    threads = [threading.Thread(target=lambda: [call.send(b"x" * 100) for _ in range(count)]) for _ in range(4)]
    for one in threads:
        one.start()
    assert [next(client.replies) for _ in range(4 * count)] == [b"x" * 100] * 4 * count
    for one in threads:
        one.join()


def test_a_client_is_held_back_while_the_call_is_paused(folder: Path) -> None:
    arrived = threading.Semaphore(0)

    def take(call: ServedCall, message: bytes) -> None:
        if len(call.received) == 1:
            call.pause(True)
        arrived.release()

    server = NativeServer(str(folder / "s"), take)
    client = Client(folder)
    try:
        client.send(*[b"x" * (1 << 20)] * 64)
        for _ in range(4):
            assert arrived.acquire(timeout=20)
        call = server.call()
        call.send(b"still answered")
        assert next(client.replies) == b"still answered"
        assert len(call.received) <= 18  # the window holds 16 MiB
        call.pause(False)
        for _ in range(60):
            assert arrived.acquire(timeout=20)
    finally:
        client.close()
        server.stop()


@pytest.mark.parametrize(
    ("method", "status", "text"),
    [(METHOD, grpc.StatusCode.FAILED_PRECONDITION, "go away"), ("/a.B/C", grpc.StatusCode.UNIMPLEMENTED, "/a.B/C")],
)
def test_refusals(folder: Path, method: str, status: grpc.StatusCode, text: str) -> None:
    server = NativeServer(str(folder / "s"), echo, refuses="go away")
    client = Client(folder, method)
    with pytest.raises(grpc.RpcError) as refused:
        next(client.replies)
    error: Any = refused.value
    assert error.code() is status
    assert text in error.details()
    client.close()
    server.stop()


def test_one_client_after_another_and_beside_each_other(folder: Path, served: NativeServer) -> None:
    clients = [Client(folder) for _ in range(5)]
    for number, one in enumerate(clients):
        one.send(b"%d" % number)
    for number, one in enumerate(clients):
        assert next(one.replies) == b"%d" % number
        one.close()
    for number in range(5):
        assert served.call(number).closed.wait(20)


def test_a_second_call_on_a_connection_is_turned_away(folder: Path, served: NativeServer, client: Client) -> None:
    client.send(b"one")
    assert next(client.replies) == b"one"
    second: Any = client.channel.stream_stream(METHOD)
    with pytest.raises(grpc.RpcError) as refused:
        next(second(iter([b"two"]), timeout=20))
    error: Any = refused.value
    assert (error.code(), error.details()) == (
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "a connection serves one call at a time: open another one",
    )
    client.send(b"three")
    assert next(client.replies) == b"three"


def test_the_socket_is_its_users_alone(folder: Path, served: NativeServer) -> None:
    assert stat.S_IMODE((folder / "s").stat().st_mode) == 0o600
    with pytest.raises(OSError, match=r"cannot listen on .*: Address already in use"):
        NativeServer(str(folder / "s"), echo)
    with pytest.raises(OSError, match="File name too long"):
        NativeServer(str(folder / ("x" * 200)), echo)


# -- peers that break the rules --------------------------------------------------------------------------


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name: str, value: str) -> bytes:
    """A header that is not put into the table (RFC 7541, 6.2.2), up to 126 bytes each."""
    return b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def request(stream: int = 1, **more: str) -> bytes:
    pairs = {":method": "POST", ":scheme": "http", ":path": METHOD, "content-type": "application/grpc", **more}
    return frame(1, 4, stream, b"".join(literal(*one) for one in pairs.items()))


GREETING = PREFACE + frame(4, 0, 0, b"")
HOSTILE = {
    "nothing": b"",
    "half a greeting": PREFACE[:10],
    "another protocol": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "noise": bytes(range(256)) * 64,
    "a frame that is too large": GREETING + b"\xff\xff\xff\x00\x00\x00\x00\x00\x01",
    "data without a call": GREETING + frame(0, 0, 1, b"x" * 100),
    "a compressed message": GREETING + request() + frame(0, 0, 1, b"\x01\x00\x00\x00\x01x"),
    "an absurd length": GREETING + request() + frame(0, 0, 1, b"\x00\xff\xff\xff\xffx"),
    "a message that does not end": GREETING + request() + frame(0, 0, 1, b"\x00\x00\x00\x00\x09x"),
    "headers without an end": GREETING + frame(1, 0, 1, literal("a", "b")) + frame(0, 0, 1, b"x"),
    "too many headers": GREETING + frame(1, 4, 1, literal("a", "b" * 120) * 400),
    "no grpc": GREETING + request(**{"content-type": "text/plain"}),
    "calls upon calls": GREETING + b"".join(request(number) for number in range(1, 400, 2)),
    "resets": GREETING + b"".join(request(n) + frame(3, 0, n, struct.pack(">I", 8)) for n in range(1, 400, 2)),
    "settings": GREETING + frame(4, 0, 0, b"\x00\x04\x7f\xff\xff\xff") * 50,
    "windows": GREETING + request() + frame(8, 0, 1, struct.pack(">I", 0x7FFFFFFF)) * 3,
    "pings": GREETING + frame(6, 0, 0, b"12345678") * 5000,
}


@pytest.mark.parametrize("bytes_", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("cut", [False, True])
def test_a_peer_that_breaks_the_rules_harms_nobody(
    folder: Path, served: NativeServer, client: Client, bytes_: bytes, cut: bool
) -> None:
    client.send(b"one")
    assert next(client.replies) == b"one"
    with socket.socket(socket.AF_UNIX) as hostile:
        hostile.settimeout(20)
        hostile.connect(str(folder / "s"))
        try:
            hostile.sendall(bytes_[: len(bytes_) // 2] if cut else bytes_)
            hostile.shutdown(socket.SHUT_WR)
            while hostile.recv(1 << 16):
                pass
        except (BrokenPipeError, ConnectionResetError):
            pass
    client.send(b"two")
    assert next(client.replies) == b"two"
    for call in served.calls[1:]:
        assert call.closed.wait(20)
