"""Whatever strangers say to the keeper's sockets, and however little they read: its service and programs are served on.

A stranger is any process of this user. What it may do at most is lose its own connection.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from toolkit.program import Program
from toolkit.tree import ROOT
from toolkit.waiting import until

from jitc.proxy.keeper import guard, protocol

VERSIONS = {"keeper": 1, "of": "a test"}
TOKEN = "a" * 32
#: Of the keeper's answer to its service while strangers do what they do.
SECONDS = 10.0
#: Packets of the fuzz, on each socket.
PACKETS = 400

#: A service in a process of its own, so that the keeper's log is to be read, and no stranger's hello ends this process.
SERVICE = """
import os, sys
from pathlib import Path
from jitc.proxy.keeper.launch import open_keeper
from jitc.proxy.keeper.claim.socket_lock import SocketLock
folder = Path(sys.argv[1])
lock = SocketLock(str(folder / "s"), folder / "s.d")
keeper, there = open_keeper(lock, {"keeper": 1, "of": "a test"}, False)
descriptor = os.memfd_create("one")
os.write(descriptor, b"mine")
keeper.keep("1/pinned", descriptor, "a" * 32)
print(keeper.pid, flush=True)
for line in sys.stdin:
    answer = keeper.watch(line.strip()) if line.strip() else keeper.drop(["nothing"])
    print(answer, flush=True)
keeper.end()
lock.release()
"""


class Place:
    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder.parent / f"{folder.name}.log"
        with self.log.open("wb") as errors:
            self.service = subprocess.Popen(
                [sys.executable, "-c", SERVICE, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=errors, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
            )  # fmt: skip
        assert self.service.stdout is not None
        self.pid = int(self.service.stdout.readline())
        self.killed = False

    def ask(self, ticket: str = "") -> str:
        """A question of the service's, answered at once."""
        assert self.service.stdin is not None and self.service.stdout is not None
        begun = time.monotonic()
        self.service.stdin.write(ticket + "\n")
        self.service.stdin.flush()
        answer = self.service.stdout.readline().strip()
        assert time.monotonic() - begun < SECONDS
        assert answer, self.log.read_text()
        return answer

    def stranger(self, name: str = "keeper") -> socket.socket:
        one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        one.connect(str(self.folder / "s.d" / name))
        one.settimeout(SECONDS)
        return one

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def kill(self) -> None:
        self.killed = True
        self.service.kill()
        self.service.wait()

    def end(self) -> None:
        assert self.service.stdin is not None and self.service.stdout is not None
        self.service.stdin.close()
        assert self.service.wait(30) == (-signal.SIGKILL if self.killed else 0), self.log.read_text()
        self.service.stdout.close()
        self.log.unlink()

    def stands(self) -> None:
        """Service and programs are served as before."""
        assert self.ask() == "None"
        program = Program(self.folder / "s")
        assert self.ask(program.ticket) == str(os.getpid())
        descriptor = program.memory(TOKEN)
        assert os.pread(descriptor, 10, 0) == b"mine"
        os.close(descriptor)
        program.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    one = Place(tmp_path)
    yield one
    one.end()
    assert not list(tmp_path.iterdir())


def say(one: socket.socket, packet: bytes) -> None:
    """Whatever the keeper makes of it, and whether or not it still listens."""
    with contextlib.suppress(OSError):
        one.send(packet, socket.MSG_DONTWAIT)


def nested(depth: int) -> bytes:
    return b"[" * depth


@pytest.mark.parametrize(
    "packet",
    [
        nested(100_000),
        b'{"versions":' + nested(100_000),
        b'{"versions":' * 900,
        b'{"versions": ' + nested(900) + b"]" * 900 + b"}",
        b'{"versions": ' + b"9" * 100_000 + b"}",
        b'{"versions": ' + b"9" * 4000 + b"}",
        b'{"versions": NaN, "replace": -Infinity}',
        b'{"versions": "\\ud800"}',
        b"\xff\xfe{",
        b'{"number": {}}',
    ],
    ids=range(10),
)
def test_no_packet_ends_it(packet: bytes, place: Place) -> None:
    before = place.descriptors()
    with place.stranger() as one:
        say(one, packet)
        with contextlib.suppress(ConnectionResetError):
            assert len(one.recv(1 << 20)) < 1024
    with place.stranger("programs") as one:
        say(one, packet[:60_000])
    place.stands()
    until(lambda: place.descriptors() == before, 20, "nothing is left of them")
    lines = place.log.read_text().splitlines()
    assert len(lines) <= 2 and all(len(line) < 400 and line.isprintable() for line in lines), lines


@pytest.mark.parametrize(("size", "times"), [(100, 20_000), (3_000, 2_000), (300_000, 20)])
def test_who_reads_nothing_holds_nobody_up(size: int, times: int, place: Place) -> None:
    """It says hello again and again, each with versions that an answer might repeat."""
    packet = json.dumps({"versions": "v" * size, "replace": True}).encode()
    with protocol.roomy(place.stranger()) as one, contextlib.suppress(OSError):
        for _ in range(times):
            one.send(packet)  # waits for the keeper to read, if it does
    place.stands()
    with protocol.roomy(place.stranger()) as one:
        say(one, packet)
        with contextlib.suppress(ConnectionResetError):
            assert len(one.recv(1 << 20)) < 1024, "a stranger's own words are not sent back at length"


def test_silence_is_no_claim(place: Place) -> None:
    """Many connections of both kinds that say nothing, and half of which nobody will ever read."""
    crowd = [place.stranger(name) for _ in range(120) for name in ("keeper", "programs")]
    for one in crowd[::2]:
        one.shutdown(socket.SHUT_RD)
    place.stands()
    for one in crowd:
        one.close()


def spoiled(chance: random.Random, good: list[bytes]) -> bytes:
    """One of them with some bytes changed, cut off, doubled or nested; or nothing that was ever good."""
    packet = bytearray(chance.choice(good))
    for _ in range(chance.choice((0, 1, 1, 3, 20))):
        packet[chance.randrange(len(packet))] = chance.choice((chance.randrange(256), *b'{}[]",:0\\'))
    way = chance.randrange(8)
    if way == 0:
        return bytes(packet[: chance.randrange(len(packet) + 1)])
    if way == 1:
        return bytes(packet) * chance.randrange(1, 200)
    if way == 2:
        return chance.choice((b"[", b'{"versions":', b'{"a":[')) * chance.randrange(1, 20_000) + bytes(packet)
    if way == 3:
        return chance.randbytes(chance.randrange(1, 5000))
    return bytes(packet)


#: Nothing that a byte more or less makes a hello of this keeper's: that might replace the service, as it is meant to.
HELLOS = [
    json.dumps(one).encode()
    for one in (
        {"versions": {"keeper": 99, "of": "strangers"}, "replace": True},
        {"versions": {"keeper": 99, "of": "strangers"}, "replace": False},
        {"do": "keep", "name": "1/pinned", "token": "x", "number": 1},
        {"do": "drop", "names": ["1/pinned"], "number": 2},
        {"do": "spawn", "command": ["/bin/false"], "environment": {}, "number": 3},
        {"do": "reap", "pid": 1, "number": 4},
        {"do": "watch", "program": "0" * 32, "number": 5},
        {"do": "end", "number": 6},
    )
]
TOKENS = [b"b" * 32, b"", b"a" * 31, b'{"do": "end"}']


@pytest.mark.parametrize(("name", "good"), [("keeper", HELLOS), ("programs", [one for one in TOKENS if one])])
def test_fuzz(name: str, good: list[bytes], place: Place) -> None:
    """Packets at random, the same each time, some with descriptors; some strangers stay, some end at once."""
    chance, staying, before = random.Random(27), list[socket.socket](), place.descriptors()
    for turn in range(PACKETS):
        one = place.stranger(name)
        for _ in range(chance.choice((1, 1, 1, 5))):
            packet, count = spoiled(chance, good), chance.choice((0, 0, 0, 1, 4, 30))
            one.setblocking(False)
            with contextlib.suppress(OSError):
                socket.send_fds(one, [packet], [0] * count) if count else one.send(packet)
        if chance.random() < 0.2:
            staying.append(one)
        else:
            one.close()
        if len(staying) > 40:
            staying.pop(0).close()
        if turn % 20 == 0:
            assert place.ask() == "None"
    place.stands()
    for one in staying:
        one.close()
    until(lambda: place.descriptors() == before, 20, "nothing is left of them")
    lines = place.log.read_text().splitlines()
    assert len(lines) < 10 * guard.LINES and all(line.isprintable() for line in lines)


def test_what_a_service_says_ends_at_most_its_connection(place: Place) -> None:
    """One without a service would be gone: the keeper is there for the next, with all that it holds."""
    program = Program(place.folder / "s")
    assert place.ask(program.ticket) == str(os.getpid())
    place.kill()
    for request in (
        {"do": "keep"}, {"do": ["x"], "number": 1}, {"do": "drop", "names": 7, "number": 1}, {"number": 1},
        {"do": "spawn", "command": [], "environment": 3, "number": 1}, {"do": "reap", "pid": {}, "number": 1},
        {"do": "keep", "name": "b", "token": "", "number": 1}, {"do": "no such thing", "number": 1},
    ):  # fmt: skip
        with place.stranger() as one:
            protocol.send(one, {"versions": VERSIONS, "replace": False})
            welcome, _ = protocol.receive(one)
            assert list(welcome["kept"]) == ["1/pinned"], welcome
            protocol.send(one, request)
            with contextlib.suppress(ConnectionResetError):
                assert one.recv(1000) == b""
    descriptor = program.memory(TOKEN)
    assert os.pread(descriptor, 10, 0) == b"mine"
    os.close(descriptor)
    program.close()
    until(lambda: not (place.folder / "s.d").exists(), 20, "the keeper has ended, as it should without programs")
