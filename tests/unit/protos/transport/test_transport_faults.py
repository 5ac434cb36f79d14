"""Servers that die, stop, do not read, or speak something else."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toolkit.waiting import until
from transport_binding import Stream, unary

Make = Callable[..., Stream]
UNAVAILABLE, INTERNAL = 14, 13


def test_killed_server_ends_a_waiting_call(process: Any, stream: Make) -> None:
    echo = stream(process.path)
    echo.send(b"a")
    echo.wait_for(1)
    ends: list[tuple[int, str]] = []
    waiter = threading.Thread(target=lambda: ends.append(echo.wait_end()))
    waiter.start()
    process.process.kill()
    waiter.join(20)
    [(status, text)] = ends
    # The second when the server had not read all that was sent (a window's update) when it was killed.
    assert status == UNAVAILABLE
    assert text in ("the server closed the connection", "connection lost: Connection reset by peer")


def test_killed_server_ends_an_idle_call(process: Any, stream: Make) -> None:
    echo = stream(process.path)
    echo.send(b"a")
    echo.wait_for(1)
    process.process.kill()
    assert echo.background_end()[0] == UNAVAILABLE
    assert echo.send(b"b") == UNAVAILABLE
    assert echo.wait(lambda: False) == -1


def test_stopped_server_is_noticed_by_its_silence(process: Any, stream: Make) -> None:
    echo = stream(process.path, ping_after_ms=100, dead_after_ms=300)
    echo.send(b"a")
    echo.wait_for(1)
    process.process.send_signal(signal.SIGSTOP)
    try:
        assert echo.wait_end() == (UNAVAILABLE, "the server does not answer")
    finally:
        process.process.send_signal(signal.SIGCONT)


def test_quiet_server_that_answers_pings_is_alive(process: Any, stream: Make) -> None:
    """Twice the silence that ends a call whose server is stopped."""
    echo = stream(process.path, ping_after_ms=300, dead_after_ms=900)
    echo.send(b"a")
    echo.wait_for(1)
    assert echo.wait(lambda: False, 1900) == 0
    assert echo.ended is None


def test_full_pipe_blocks_the_sender(process: Any, stream: Make) -> None:
    slow = stream(process.path, "/test.Test/Slow")
    total, message = 64, os.urandom(1 << 20)
    sent: list[int] = []

    def send_all() -> None:
        for number in range(total):
            assert slow.send(message) == 0
            sent.append(number)

    sender = threading.Thread(target=send_all)
    sender.start()
    until(lambda: len(sent) >= 4, 20, "a few fit into the pipe")
    sender.join(1)
    assert sender.is_alive() and len(sent) < total // 2
    process.allow(total)
    sender.join(20)
    assert not sender.is_alive()
    assert slow.wait_for(total) == [b"1048576"] * total


def test_a_message_that_is_too_large_ends_the_call(process: Any, stream: Make) -> None:
    """As soon as it is announced: nothing of it is kept."""
    burst = stream(process.path, "/test.Test/Burst")
    size = (64 << 20) + 1
    burst.send(b"1 %d" % size)
    assert burst.wait_end() == (
        INTERNAL,
        f"the server announced a message of {size} bytes; the limit is {size - 1}",
    )
    assert burst.received == []


def test_death_releases_a_blocked_sender(process: Any, stream: Make) -> None:
    slow = stream(process.path, "/test.Test/Slow")
    statuses: list[int] = []

    def send_all() -> None:
        while not statuses or statuses[-1] == 0:
            statuses.append(slow.send(bytes(1 << 20)))

    sender = threading.Thread(target=send_all)
    sender.start()
    until(lambda: len(statuses) >= 4, 20, "a few fit into the pipe")
    process.process.kill()
    sender.join(20)
    assert not sender.is_alive() and statuses[-1] == UNAVAILABLE


GARBAGE = {
    "http1": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "noise": bytes(range(256)) * 40,
    "zeros": bytes(5000),
    "huge_frame": b"\xff\xff\xff\x00\x00\x00\x00\x00\x01" + bytes(100),
    "nothing": b"",
}


@pytest.mark.parametrize("name", GARBAGE)
@pytest.mark.parametrize("close", [True, False])
def test_garbage_is_a_clean_error(folder: Path, stream: Make, name: str, close: bool) -> None:
    if name == "nothing" and not close:
        pytest.skip("a silent server is not an error")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "g"))
    listener.listen()
    over = threading.Event()

    def answer() -> None:
        for _ in range(2):
            peer, _ = listener.accept()
            with peer:
                peer.recv(1000)
                peer.sendall(GARBAGE[name])
                if not close:
                    over.wait(20)

    thread = threading.Thread(target=answer)
    thread.start()
    garbled = stream(str(folder / "g"))
    garbled.send(b"hello")
    status, text = garbled.wait_end()
    assert status in (INTERNAL, UNAVAILABLE) and text
    over.set()
    status, answered = unary(str(folder / "g"), "/test.Test/Unary", b"x")
    assert status in (INTERNAL, UNAVAILABLE) and answered
    thread.join(20)
    listener.close()


def test_end_is_told_once_and_close_is_silent(process: Any, stream: Make) -> None:
    """Stream._closed fails when it is called twice; closing an open stream does not call it."""
    echo = stream(process.path)
    echo.send(b"a")
    echo.wait_for(1)
    echo.close()
    assert echo.ended is None
    again = stream(process.path)
    process.process.kill()
    again.wait_end()
    again.close()
