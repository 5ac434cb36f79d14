"""Whoever may connect to a server and never calls: bounded in number and time, and in nobody's way."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from http2_bytes import GREETING, PING, PREFACE, frame, message, request
from raw_client import Client
from server_binding import NativeServer, echo
from toolkit.waiting import until

#: kStrangers; beyond any test; short enough to be waited for.
STRANGERS, LONG, SHORT = 64, 3_600_000, 50
SECONDS = 30
#: Each stands still after it.
HELLOS = {
    "nothing": b"",
    "half a greeting": PREFACE[:10],
    "a greeting": GREETING,
    "half a frame": GREETING + request()[:40],
    "headers without an end": GREETING + frame(1, 0, 1, b""),
    "another method": GREETING + request(**{":path": "/a.B/C"}),
    "another method and half a message": GREETING + request(**{":path": "/a.B/C"}) + message(b"x" * 99)[:20],
}
Serve = Callable[..., NativeServer]
Knock = Callable[[bytes], socket.socket]


@pytest.fixture
def serve(folder: Path) -> Iterator[Serve]:
    made: list[NativeServer] = []

    def make(hello_ms: int, refuses: str = "") -> NativeServer:
        made.append(NativeServer(str(folder / "s"), echo, refuses, hello_ms))
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def knock(folder: Path) -> Iterator[Knock]:
    with contextlib.ExitStack() as made:

        def make(said: bytes) -> socket.socket:
            one = made.enter_context(socket.socket(socket.AF_UNIX))
            one.settimeout(SECONDS)
            one.connect(str(folder / "s"))
            one.sendall(said)
            return one

        yield make


def read_to_its_end(connection: socket.socket) -> bytes:
    answer = b""
    with contextlib.suppress(ConnectionResetError):  # what it had sent was not read
        while got := connection.recv(1 << 16):
            answer += got
    return answer


def is_over(connection: socket.socket) -> bool:
    try:
        read_to_its_end(connection)
    except BlockingIOError:
        return False
    return True


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("said", HELLOS.values(), ids=HELLOS.keys())
def test_who_does_not_call_is_let_go(serve: Serve, knock: Knock, said: bytes) -> None:
    """Also what it held: descriptors of the server, without that anybody else comes."""
    serve(SHORT)
    before = descriptors()
    one = knock(said)
    read_to_its_end(one)
    until(lambda: descriptors() == before + 1, SECONDS, "the server has closed its side")


def test_who_is_refused_is_let_go(serve: Serve, knock: Knock) -> None:
    serve(SHORT, refuses="go away")
    assert read_to_its_end(knock(GREETING + request())).endswith(frame(3, 0, 1, bytes(4)))


def test_who_goes_on_talking_is_let_go(serve: Serve, knock: Knock) -> None:
    serve(SHORT)
    one = knock(GREETING)
    with pytest.raises(OSError, match=r"Broken pipe|Connection reset"):
        while True:
            one.sendall(PING)
            one.recv(1 << 16)


def test_who_has_called_is_let_go_after_the_call(serve: Serve, knock: Knock) -> None:
    server = serve(SHORT)
    one = knock(GREETING + request() + message(b"the last one", flags=1))
    assert b"the last one" in read_to_its_end(one)
    assert server.call().closed.wait(SECONDS)


def test_a_call_may_stand_still(serve: Serve, knock: Knock) -> None:
    """In the middle of a frame, for longer than a stranger may."""
    server = serve(SHORT)
    whole = message(b"said in two parts")
    one = knock(GREETING + request() + whole[:20])
    call = server.call()
    for _ in range(3):
        read_to_its_end(knock(b""))
    assert not call.closed.is_set()
    one.sendall(whole[20:])
    answer = b""
    while b"said in two parts" not in answer:
        got = one.recv(1 << 16)
        assert got
        answer += got


def test_a_crowd_keeps_nobody_out(serve: Serve, knock: Knock, connect: Callable[[], Client]) -> None:
    """The oldest go, and no more of them than must; those with a call stay."""
    server = serve(LONG)
    said = list(HELLOS.values())
    early = connect()
    early.send(b"before")
    assert early.reply() == b"before"
    crowd = [knock(said[number % len(said)]) for number in range(100)]
    late = connect()
    late.send(b"beside")
    assert late.reply() == b"beside"
    for one in crowd:
        one.setblocking(False)
    gone = 100 + 1 - STRANGERS
    until(lambda: all(map(is_over, crowd[:gone])), SECONDS, "the oldest have been turned away")
    assert not any(map(is_over, crowd[gone:]))
    crowd += [knock(b"") for _ in range(100)]
    for one in (early, late):
        one.send(b"after")
        assert one.reply() == b"after"
    assert not any(call.closed.is_set() for call in server.calls)
