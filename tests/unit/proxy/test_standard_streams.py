"""Standard streams that nobody reads any more, or for now, neither stop nor end the process that writes."""

from __future__ import annotations

import fcntl
import io
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from jitc.proxy.common import standard_streams
from jitc.proxy.common.standard_streams import Shielded

ROOM = 4096
LINE = "x" * 99


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A small one: where to read, where to write."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, ROOM)
    yield reader, writer
    for one in (reader, writer):
        try:
            os.close(one)
        except OSError:
            continue  # the test has closed it


def test_a_reader_that_has_gone(pipe: tuple[int, int]) -> None:
    stream = Shielded(pipe[1])
    os.close(pipe[0])
    for _ in range(3):
        print(LINE, file=stream, flush=True)


@pytest.mark.parametrize("foreign", [False, True])
def test_a_reader_that_stands_still(pipe: tuple[int, int], foreign: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What found no room is counted, and said once there is some. foreign: the pipe cannot be opened again."""

    def refuse(*_: object) -> int:
        raise PermissionError

    with monkeypatch.context() as during:
        if foreign:
            during.setattr(os, "open", refuse)
        stream = Shielded(pipe[1])
    for _ in range(200):
        print(LINE, file=stream, flush=True)
    held = os.read(pipe[0], 2 * ROOM).decode()
    lines = held.splitlines()
    assert held.endswith("\n") and set(lines) == {LINE}
    print("again", file=stream)
    assert os.read(pipe[0], ROOM).decode() == f"({200 - len(lines)} lines found no room here)\nagain\n"


def test_a_line_that_finds_half_the_room_is_ended_before_the_next(pipe: tuple[int, int]) -> None:
    stream = Shielded(pipe[1])
    print("y" * 3 * ROOM, file=stream)
    first = os.read(pipe[0], 4 * ROOM).decode()
    assert set(first) == {"y"} and len(first) <= ROOM
    print("again", file=stream)
    assert os.read(pipe[0], ROOM).decode() == "\nagain\n"


def test_lines_of_threads_are_whole(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as log:
        stream, texts = Shielded(log.fileno()), [str(one) * 50 for one in range(8)]

        def say(text: str) -> None:
            for _ in range(100):
                print(text[:25], text[25:], sep="", file=stream, flush=True)

        threads = [threading.Thread(target=say, args=(one,)) for one in texts]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert sorted((tmp_path / "log").read_text().splitlines()) == sorted(100 * texts)


def test_a_file_that_others_write_as_well(tmp_path: Path) -> None:
    """Each goes on where the other has ended; the native parts write to the descriptor itself."""
    with (tmp_path / "log").open("w") as log:
        stream = Shielded(log.fileno())
        for number in range(3):
            print("ours", number, file=stream)
            os.write(log.fileno(), b"theirs\n")
    assert (tmp_path / "log").read_text() == "".join(f"ours {number}\ntheirs\n" for number in range(3))


def test_a_socket_and_a_descriptor_that_is_closed() -> None:
    ours, theirs = socket.socketpair()
    stream = Shielded(ours.fileno())
    print("there", file=stream)
    assert theirs.recv(100) == b"there\n"
    for _ in range(20_000):
        print(LINE, file=stream)  # far more than it holds
    theirs.close()
    print(LINE, file=stream)
    closed = os.dup(0)
    os.close(closed)
    print(LINE, file=Shielded(closed))
    ours.close()


def test_a_part_of_a_line_is_written_when_it_is_flushed(pipe: tuple[int, int]) -> None:
    stream = Shielded(pipe[1])
    stream.write("no end")
    stream.flush()
    assert os.read(pipe[0], ROOM) == b"no end"
    stream.write("\udc80 of another kind\n")
    assert os.read(pipe[0], ROOM) == b"\\udc80 of another kind\n"


def test_whoever_asks_for_a_descriptor_gets_it(pipe: tuple[int, int]) -> None:
    stream = Shielded(pipe[1])
    assert (stream.fileno(), stream.isatty(), stream.writable(), stream.encoding) == (pipe[1], False, True, "utf-8")


def test_a_process_has_its_own_shielded(monkeypatch: pytest.MonkeyPatch) -> None:
    another = io.StringIO()
    monkeypatch.setattr(sys, "stdout", sys.__stdout__)
    monkeypatch.setattr(sys, "stderr", another)
    standard_streams.shield()
    assert isinstance(sys.stdout, Shielded) and sys.stdout.fileno() == 1
    assert sys.stderr is another
