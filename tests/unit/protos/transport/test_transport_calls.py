"""Messages of all sizes, statuses and metadata, against a real grpcio server."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from raw_server import ERROR_TEXT
from toolkit.waiting import until
from transport_binding import OpenError, Stream, unary

Make = Callable[..., Stream]
SIZES = [0, 1, 7, 1000, 16379, 16384, 65536, 1 << 20, (4 << 20) + 3]


@pytest.mark.parametrize("size", SIZES)
def test_unary_gives_the_bytes_back(path: str, size: int) -> None:
    request = os.urandom(size)
    assert unary(path, "/test.Test/Unary", request) == (0, request)


def test_unary_error_has_status_and_decoded_text(path: str) -> None:
    assert unary(path, "/test.Test/UnaryFail", b"x") == (9, ERROR_TEXT.encode())


def test_unknown_method_is_unimplemented(path: str) -> None:
    assert unary(path, "/test.Test/Nothing", b"")[0] == 12


def test_unary_ends_at_its_time_limit(path: str) -> None:
    assert unary(path, "/test.Test/UnaryHang", b"", timeout_ms=200)[0] == 4


def test_absent_and_dead_sockets_give_errno(folder: Path) -> None:
    import socket

    status, text = unary(str(folder / "none"), "/test.Test/Unary", b"")
    assert status == -errno.ENOENT and str(folder / "none").encode() in text
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(folder / "dead"))
    dead.close()
    assert unary(str(folder / "dead"), "/test.Test/Unary", b"")[0] == -errno.ECONNREFUSED
    assert unary("x" * 200, "/test.Test/Unary", b"")[0] == -errno.ENAMETOOLONG
    with pytest.raises(OpenError, match="none"):
        Stream(str(folder / "none"))


def test_stream_keeps_order_and_content(path: str, stream: Make) -> None:
    echo = stream(path)
    sent = [os.urandom(size) for size in SIZES * 3]
    for message in sent:
        assert echo.send(message) == 0
    assert echo.wait_for(len(sent)) == sent


def test_parts_become_one_message(path: str, stream: Make) -> None:
    echo = stream(path)
    echo.send(b"one", b"", b"two", b"x" * 100_000)
    assert echo.wait_for(1) == [b"onetwo" + b"x" * 100_000]


def test_background_thread_delivers_when_nobody_waits(path: str, stream: Make) -> None:
    echo = stream(path)
    for number in range(5):
        echo.send(b"%d" % number)
        until(lambda count=number: len(echo.received) > count, 20, "the echo")
    assert threading.get_ident() not in echo.threads


def test_waiting_thread_sends_and_receives_itself(path: str, stream: Make) -> None:
    """While the background thread sleeps, a round trip needs no hop to it."""
    waiting: list[bytes] = []
    echo = stream(path, ready=lambda: waiting.pop(0) if waiting else None)
    for number in range(20):
        until(lambda: echo.api.asleep(echo.handle) == 1, 20, "the background thread falls asleep")
        echo.threads.clear()
        waiting.append(b"%d" % number)
        echo.wait_for(number + 1)
        assert echo.threads == {threading.get_ident()}


def test_metadata_arrives(path: str, stream: Make) -> None:
    meta = stream(path, "/test.Test/Meta", [("jitc-protocol", "1"), ("jitc-session", "ab" * 16)])
    text = meta.wait_for(1)[0].decode()
    assert "jitc-protocol=1" in text and "jitc-session=" + "ab" * 16 in text


def test_messages_come_before_the_error(path: str, stream: Make) -> None:
    failing = stream(path, "/test.Test/Fail")
    failing.send(b"last words")
    assert failing.wait_end() == (5, ERROR_TEXT)
    assert failing.received == [b"last words"]
    assert failing.send(b"too late") == 5


def test_many_messages_in_few_reads(path: str, stream: Make) -> None:
    burst = stream(path, "/test.Test/Burst")
    burst.send(b"2000 8")
    burst.send(b"40 300000")
    received = burst.wait_for(2040)
    assert [int.from_bytes(message[:8], "little") for message in received] == [*range(2000), *range(40)]
    assert {len(message) for message in received[2000:]} == {300_000}


def test_wait_stops_at_its_time_limit(path: str, stream: Make) -> None:
    assert stream(path).wait(lambda: False, 50) == 0


def test_wait_without_time_takes_one_turn(path: str, stream: Make) -> None:
    echo = stream(path)
    echo.send(b"abc")
    until(lambda: echo.wait(lambda: bool(echo.received), 0) == 1, 20, "polling finds the echo")


def test_two_threads_wait_for_different_messages(path: str, stream: Make) -> None:
    """Each gets what it waits for, whichever of them drives; also when one gives up early."""
    echo = stream(path)
    results: dict[int, int] = {}

    def wait(count: int) -> None:
        results[count] = echo.wait(lambda: len(echo.received) >= count)

    threads = [threading.Thread(target=wait, args=(count,)) for count in (3, 1, 2, 4)]
    for thread in threads:
        thread.start()
    assert echo.wait(lambda: False, 20) == 0
    for number in range(4):
        echo.send(b"%d" % number)
    for thread in threads:
        thread.join(20)
    assert results == {1: 1, 2: 1, 3: 1, 4: 1}


def test_pull_mode_sends_what_has_gathered(path: str, stream: Make) -> None:
    lock = threading.Lock()
    waiting: list[bytes] = []

    def ready() -> bytes | None:
        with lock:
            return waiting.pop(0) if waiting else None

    echo = stream(path, ready=ready)
    sent = [os.urandom(number * 37) for number in range(300)]
    for message in sent:
        with lock:
            waiting.append(message)
            asleep = echo.api.asleep(echo.handle)
        if asleep:
            echo.api.wake(echo.handle)
    assert echo.wait_for(len(sent)) == sent


def test_pull_mode_wakes_a_sleeping_stream(path: str, stream: Make) -> None:
    waiting: list[bytes] = []
    echo = stream(path, ready=lambda: waiting.pop(0) if waiting else None)
    for number in range(20):
        until(lambda: echo.api.asleep(echo.handle) == 1, 20, "the stream falls asleep")
        waiting.append(b"%d" % number)
        echo.api.wake(echo.handle)
        until(lambda count=number: len(echo.received) > count, 20, "the echo")
    assert echo.received == [b"%d" % number for number in range(20)]
