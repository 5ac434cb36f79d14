"""The server's half of the transport: stock grpcio clients, our own client, and peers that break the rules."""

from __future__ import annotations

import os
import socket
import stat
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from http2_bytes import GREETING, METHOD, PREFACE, frame, literal, request
from raw_client import Client, Refused
from server_binding import NativeServer, ServedCall, echo

FAILED_PRECONDITION, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNIMPLEMENTED = 9, 3, 8, 12
Connect = Callable[..., Client]


@pytest.fixture
def served(folder: Path) -> Iterator[NativeServer]:
    server = NativeServer(str(folder / "s"), echo)
    yield server
    server.stop()
    assert not (folder / "s").exists()


@pytest.fixture
def client(served: NativeServer, connect: Connect) -> Client:
    return connect(metadata=(("jitc-test", "x y"),))


def test_messages_of_any_size_come_back(served: NativeServer, client: Client) -> None:
    messages = [b"", b"a", os.urandom(100_000), os.urandom(5 << 20), b"z" * 16384, os.urandom(20 << 20)]
    client.send(*messages)
    assert [client.reply() for _ in messages] == messages
    assert served.call().metadata["jitc-test"] == "x y"


def test_a_client_that_has_said_all_is_answered_with_ok(served: NativeServer, client: Client) -> None:
    client.send(b"one", b"two")
    client.half_close()
    assert client.rest() == [b"one", b"two"]
    assert client.status() == 0
    assert served.call().closed.wait(20)


def test_the_server_ends_a_call(served: NativeServer, client: Client) -> None:
    client.send(b"one")
    assert client.reply() == b"one"
    served.call().finish(3, "not that: 100 % wrong, \u00fc")
    with pytest.raises(Refused) as refused:
        client.reply()
    assert (refused.value.status, refused.value.text) == (INVALID_ARGUMENT, "not that: 100 % wrong, \u00fc")
    assert served.call().closed.wait(20)


def test_what_is_to_be_sent_goes_out_before_the_end(served: NativeServer, client: Client) -> None:
    client.send(b"one")
    assert client.reply() == b"one"
    served.call().send(b"two", b"three", b"END")
    assert client.rest() == [b"two", b"three"]
    assert client.status() == 0


def test_later(served: NativeServer, client: Client) -> None:
    client.send(b"one")
    assert client.reply() == b"one"
    served.call().send_after(0.01, b"two")
    assert client.reply() == b"two"
    served.call().send_after(0, b"three")
    assert client.reply() == b"three"


def test_messages_from_many_threads(served: NativeServer, client: Client) -> None:
    """Whoever sends while another thread is at it leaves its message to that one: none is forgotten."""
    client.send(b"one")
    assert client.reply() == b"one"
    call, count = served.call(), 500
    threads = [threading.Thread(target=lambda: [call.send(b"x" * 100) for _ in range(count)]) for _ in range(4)]
    for one in threads:
        one.start()
    assert [client.reply() for _ in range(4 * count)] == [b"x" * 100] * 4 * count
    for one in threads:
        one.join()


def test_a_client_is_held_back_while_the_call_is_paused(folder: Path, connect: Connect) -> None:
    arrived = threading.Semaphore(0)

    def take(call: ServedCall, message: bytes) -> None:
        if len(call.received) == 1:
            call.pause(True)
        arrived.release()

    server = NativeServer(str(folder / "s"), take)
    client = connect()
    try:
        client.send(*[b"x" * (1 << 20)] * 64)
        for _ in range(4):
            assert arrived.acquire(timeout=20)
        call = server.call()
        call.send(b"still answered")
        assert client.reply() == b"still answered"
        assert len(call.received) <= 18  # the window holds 16 MiB
        call.pause(False)
        for _ in range(60):
            assert arrived.acquire(timeout=20)
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("method", "status", "text"),
    [(METHOD, FAILED_PRECONDITION, "go away"), ("/a.B/C", UNIMPLEMENTED, "/a.B/C")],
)
def test_refusals(folder: Path, connect: Connect, method: str, status: int, text: str) -> None:
    server = NativeServer(str(folder / "s"), echo, refuses="go away")
    client = connect(method)
    with pytest.raises(Refused) as refused:
        client.reply()
    assert refused.value.status == status
    assert text in refused.value.text
    server.stop()


def test_one_client_after_another_and_beside_each_other(served: NativeServer, connect: Connect) -> None:
    clients = [connect() for _ in range(5)]
    for number, one in enumerate(clients):
        one.send(b"%d" % number)
    for number, one in enumerate(clients):
        assert one.reply() == b"%d" % number
        one.close()
    for number in range(5):
        assert served.call(number).closed.wait(20)


def test_a_second_call_on_a_connection_is_turned_away(served: NativeServer, client: Client) -> None:
    client.send(b"one")
    assert client.reply() == b"one"
    with pytest.raises(Refused) as refused:
        client.second_call(METHOD, b"two")
    assert (refused.value.status, refused.value.text) == (
        RESOURCE_EXHAUSTED,
        "a connection serves one call at a time: open another one",
    )
    client.send(b"three")
    assert client.reply() == b"three"


def test_the_socket_is_its_users_alone(folder: Path, served: NativeServer) -> None:
    assert stat.S_IMODE((folder / "s").stat().st_mode) == 0o600
    with pytest.raises(OSError, match=r"cannot listen on .*: Address already in use"):
        NativeServer(str(folder / "s"), echo)
    with pytest.raises(OSError, match="File name too long"):
        NativeServer(str(folder / ("x" * 200)), echo)


# -- peers that break the rules --------------------------------------------------------------------------


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
    assert client.reply() == b"one"
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
    assert client.reply() == b"two"
    for call in served.calls[1:]:
        assert call.closed.wait(20)
