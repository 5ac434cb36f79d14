"""The relay before the service's gRPC servers: who comes is known, bytes arrive, nobody holds up or breaks another."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from front_rig import Front, closed, everything, threads
from toolkit.waiting import patient, until

from jitc.proxy.front import relay as module
from jitc.proxy.front.relay import Relay
from jitc.proxy.keeper.peer import Peer

#: More than all buffers on the way have room for.
MUCH = 4 << 20


# ---- bytes --------------------------------------------------------------------------------------
def test_the_route_is_told_who_comes(started: Front) -> None:
    one, other = started.pair()
    assert started.stands()
    assert {(peer.pid, peer.uid, peer.gid) for peer in started.peers} == {(os.getpid(), os.geteuid(), os.getegid())}
    assert set(started.peers[0].groups) == set(os.getgroups())
    one.sendall(b"later")
    assert other.recv(100) == b"later"


def test_half_an_end_is_passed_on(started: Front) -> None:
    for one, other in (started.pair(), started.pair()[::-1]):
        sent = os.urandom(MUCH)
        with ThreadPoolExecutor(1) as pool:
            read = pool.submit(everything, other)
            one.sendall(sent)
            one.shutdown(socket.SHUT_WR)
            assert read.result(patient(20)) == sent
        other.sendall(b"an answer after the end")
        assert one.recv(100) == b"an answer after the end"
        other.close()
        assert one.recv(1) == b""


@pytest.mark.parametrize("who", ["program", "server"])
def test_the_end_of_one_side_is_that_of_the_other(who: str, started: Front) -> None:
    """While the other has no reason to end, and what was sent before arrives."""
    staying, ending = started.pair() if who == "server" else started.pair()[::-1]
    ending.sendall(b"last words")
    ending.close()
    assert everything(staying) == b"last words"
    until(lambda: started.relay and not started.relay._connections, 20, "its place is free, though it stays")
    with pytest.raises(BrokenPipeError):
        staying.sendall(b"x")


def test_an_end_in_the_middle_of_a_large_message(started: Front) -> None:
    for one, other in (started.pair(), started.pair()[::-1]):
        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(one.sendall, b"x" * (4 * MUCH))
            assert other.recv(1000)
            other.close()
            assert isinstance(sending.exception(patient(20)), (BrokenPipeError, ConnectionResetError))
    assert started.stands()
    until(lambda: started.relay and not started.relay._connections, 20, "nothing of them is left")


@pytest.mark.parametrize("who", ["program", "server"])
def test_who_does_not_read_is_not_read_for(who: str, started: Front) -> None:
    """And others are served meanwhile. When it reads, everything is there."""
    one, other = started.pair() if who == "server" else started.pair()[::-1]
    one.setblocking(False)
    room, sent = select.poll(), 0
    room.register(one, select.POLLOUT)
    block = bytes(range(256)) * 256
    while room.poll(1000):
        sent += one.send(block[sent % 256 :])
        assert sent < MUCH, "more than two sockets and the relay should hold"
    assert started.stands()
    assert not room.poll(0)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(everything, other)
        one.setblocking(True)
        one.shutdown(socket.SHUT_WR)
        found = read.result(patient(20))
    assert found == (block * (sent // len(block) + 1))[:sent]


def test_a_fast_connection_leaves_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose bytes are always there when the relay looks, and for whose bytes there is always room."""
    monkeypatch.setattr(module, "CHUNK", 1000)

    async def turns_of_others() -> int:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        one.sendall(b"x" * 50_000)
        one.shutdown(socket.SHUT_WR)
        await module._pump(source, sink)
        counting.cancel()
        return turns

    (one, source), (sink, other) = socket.socketpair(), socket.socketpair()
    with one, source, sink, other:
        source.setblocking(False)
        sink.setblocking(False)
        assert asyncio.run(turns_of_others()) >= 50
        assert everything(other) == b"x" * 50_000


def test_many_at_once(started: Front) -> None:
    """Each with bytes of its own, and in both directions at the same time."""
    count = 200
    with ThreadPoolExecutor(2) as pool:
        accepting = pool.submit(lambda: [started.accept() for _ in range(count)])
        ones = [started.connect() for _ in range(count)]
        others = accepting.result(patient(30))
    for number, one in enumerate(ones):
        one.sendall(b"%d." % number * 1000)
    for number, other in enumerate(others):
        other.sendall(b"server %d" % number)
        other.shutdown(socket.SHUT_WR)
    for one in ones:
        one.shutdown(socket.SHUT_WR)
    assert sorted(everything(other) for other in others) == sorted(b"%d." % number * 1000 for number in range(count))
    assert sorted(everything(one) for one in ones) == sorted(b"server %d" % number for number in range(count))


# ---- routes -------------------------------------------------------------------------------------
def test_who_has_no_route_is_sent_away(front: Front, capsys: pytest.CaptureFixture[str]) -> None:
    front.route = lambda peer: None
    front.start()
    assert closed(front.connect())
    front.route = lambda peer: front.private
    assert front.stands()
    assert capsys.readouterr().err == ""


def failing(peer: Peer) -> str | None:
    raise RuntimeError(f"no server for\nuser {peer.uid}")


@pytest.mark.parametrize(
    ("route", "said"),
    [
        (failing, f"RuntimeError: no server for\\nuser {os.geteuid()}"),
        (lambda peer: "/nowhere/private", "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/private'"),
        (lambda peer: "/" + "x" * 200, "path too long"),
        (lambda peer: 5, "TypeError"),
    ],
)
def test_a_route_that_fails_costs_one_connection(
    route: Any, said: str, front: Front, capsys: pytest.CaptureFixture[str]
) -> None:
    front.route = route
    front.start()
    assert all(closed(front.connect()) for _ in range(5))
    front.route = lambda peer: front.private
    assert front.stands()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and said in lines[0] and "jitc-relay" in lines[0]


def test_a_server_that_does_not_listen_costs_one_connection(started: Front, capsys: pytest.CaptureFixture[str]) -> None:
    started.server.close()
    assert closed(started.connect())
    assert f"ConnectionRefusedError: [Errno 111] Connection refused: '{started.private}'" in capsys.readouterr().err


def test_a_full_queue_of_the_server_is_waited_for(front: Front) -> None:
    """A crowd loses no connection, though a nonblocking one would fail then."""
    front.server.listen(1)
    front.start()
    ones, ends = [front.connect() for _ in range(30)], select.poll()
    for one in ones:
        one.sendall(b"x")
        ends.register(one, select.POLLIN)
    until(lambda: len(front.peers) == 3, 20, "the third finds no room")
    assert ends.poll(300) == [], "none is sent away"
    others = [front.accept() for _ in ones]
    assert all(other.recv(1) == b"x" for other in others)


def test_a_route_of_one_user_keeps_no_other_waiting(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many of that user's connections wait for it; they are routed one by one."""
    over, users, slow = threading.Event(), iter([7] * 50 + [8]), SimpleQueue[int]()
    monkeypatch.setattr(module, "peer_of", lambda connection: Peer(1, next(users), 1))

    def route(peer: Peer) -> str:
        if peer.uid == 7:
            slow.put(1)
            assert over.wait(patient(20))
        return front.private

    front.route = route
    front.start()
    try:
        crowd = [front.connect() for _ in range(50)]
        slow.get(timeout=patient(20))
        assert front.stands()
        assert slow.empty()
    finally:
        over.set()
    others = [front.accept() for _ in crowd]
    for one, other in zip(crowd, others, strict=True):
        one.sendall(b"x")
        assert other.recv(1) == b"x"


# ---- limits -------------------------------------------------------------------------------------
def test_one_user_leaves_places_for_others(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FOR_ONE", 3)
    uids = iter([7, 7, 7, 7, 7, 8, 7])
    monkeypatch.setattr(module, "peer_of", lambda connection: Peer(1, next(uids), 1))
    front.start()
    crowd = [front.pair() for _ in range(3)]
    assert closed(front.connect()) and closed(front.connect())
    assert front.stands(), "user 8"
    crowd[0][0].close()
    assert crowd[0][1].recv(1) == b""
    until(lambda: front.relay and len(front.relay._connections) == 2, 20, "its place is free")
    assert front.stands(), "user 7 again"
    assert front.relay is not None
    until(lambda: front.relay and front.relay._places._taken == {7: 2}, 20, "who has left is forgotten")
    assert set(front.relay._places._routing) == {7}


def test_all_users_together_have_so_many_places(
    front: Front, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "CONNECTIONS", 4)
    uids = iter(range(100))
    monkeypatch.setattr(module, "peer_of", lambda connection: Peer(1, next(uids), 1))
    front.start()
    crowd = [front.pair() for _ in range(4)]
    assert closed(front.connect())
    assert "there are 4 connections, and there may be no more" in capsys.readouterr().err
    crowd[0][1].close()
    assert closed(crowd[0][0])
    until(lambda: front.relay and len(front.relay._connections) == 3, 20, "its place is free")
    assert front.stands()


@pytest.mark.parametrize(
    ("descriptors", "most", "for_one"),
    [(resource.RLIM_INFINITY, 1024, 256), (1 << 20, 1024, 256), (1024, 85, 43), (16, 1, 1), (0, 1, 1)],
)
def test_places_are_a_share_of_the_descriptors(
    descriptors: int, most: int, for_one: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (descriptors, descriptors))
    places = module.Places()
    assert (places._most, places._for_one) == (most, for_one)


def test_without_descriptors_it_waits_and_goes_on(started: Front, capsys: pytest.CaptureFixture[str]) -> None:
    assert started.stands()
    until(lambda: started.relay and not started.relay._connections, 20, "it has ended")
    ones = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(3)]
    started.ends += ones
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    begun, before = time.monotonic(), started.listener.asked
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
    try:
        for one in ones:
            one.connect(started.public)
        until(lambda: started.listener.asked >= before + 4, 20, "it has tried again")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    tries = started.listener.asked - before
    assert tries <= (time.monotonic() - begun) / module.PAUSE_SECONDS + 1, "it goes round and round"
    for one in ones:
        one.settimeout(patient(20))
        one.sendall(b"x")
    assert all(started.accept().recv(1) == b"x" for _ in ones)
    assert len([line for line in capsys.readouterr().err.splitlines() if "Too many open files" in line]) == 1


def test_it_says_so_if_it_cannot_start(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(relay: Relay) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(Relay, "_listen", without)
    with pytest.raises(OSError, match="Too many open files"):
        front.start()
    until(lambda: not threads(), 20, "its thread has ended")
    assert front.listener.fileno() == -1


# ---- its end ------------------------------------------------------------------------------------
def test_stop_closes_everything(started: Front) -> None:
    pairs = [started.pair() for _ in range(20)]
    stuck = started.connect(), started.accept()
    stuck[0].setblocking(False)
    with pytest.raises(BlockingIOError):
        while True:
            stuck[0].send(b"x" * 1000)
    assert started.relay is not None
    started.relay.stop()
    assert not threads()
    assert all(closed(end) for pair in pairs for end in pair)
    assert closed(stuck[0])
    assert Path(started.public).is_socket(), "the name is its owner's"
    with pytest.raises(ConnectionRefusedError):
        started.connect()
    started.relay.stop()


def test_stop_while_connections_come(started: Front) -> None:
    """Some are there, some are being routed, some wait in the kernel's queue."""
    over = threading.Event()

    def come() -> int:
        count = 0
        while not over.is_set():
            try:
                with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
                    one.connect(started.public)
                    one.sendall(b"x" * 1000)
            except OSError:
                continue
            count += 1
        return count

    with ThreadPoolExecutor(4) as pool:
        crowd = [pool.submit(come) for _ in range(4)]
        try:
            until(lambda: len(started.peers) > 100, 20, "they come")
            assert started.relay is not None
            started.relay.stop()
        finally:
            over.set()
        assert all(each.result(patient(20)) for each in crowd)


def test_stop_while_a_route_blocks(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not waited for longer than said, and what it opens after that is closed."""
    monkeypatch.setattr(module, "STOP_SECONDS", 0.2)
    over, asked = threading.Event(), threading.Event()

    def route(peer: Peer) -> str:
        asked.set()
        assert over.wait(patient(20))
        return front.private

    front.route = route
    front.start()
    one = front.connect()
    assert asked.wait(patient(20))
    assert front.relay is not None
    try:
        front.relay.stop()
        assert closed(one)
    finally:
        over.set()
    assert front.accept().recv(1) == b""
    until(lambda: not threads(), 20, "its threads have ended")


def test_stop_without_a_start(front: Front) -> None:
    front.relay = Relay(front.listener, lambda peer: None)
    front.relay.stop()
    assert front.listener.fileno() == -1


def test_a_defect_in_the_relay_costs_one_connection(
    started: Front, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as changed:
        changed.setattr(module, "peer_of", lambda connection: 1 // 0)
        assert closed(started.connect())
    assert started.stands()
    assert "ZeroDivisionError" in capsys.readouterr().err


# ---- other users --------------------------------------------------------------------------------
OTHER_USER = """
import os, socket, sys
os.setgroups([3_100_000_002, 3_100_000_003]); os.setgid(3_100_000_001); os.setuid(3_000_000_001)
one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
one.connect(sys.argv[1])
one.sendall(b"hello")
print(os.getpid(), one.recv(100), flush=True)
"""


def test_another_user_is_seen() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    with tempfile.TemporaryDirectory(prefix="jitc-front-", dir="/tmp") as folder:
        front = Front(Path(folder))
        os.chmod(folder, 0o755)
        os.chmod(front.public, 0o666)
        os.chmod(front.private, 0o600)
        front.start()
        process = subprocess.Popen(
            [sys.executable, "-c", OTHER_USER, front.public], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            other = front.accept()
            assert other.recv(100) == b"hello"
            other.sendall(b"you are seen")
            out, errors = process.communicate(timeout=patient(30))
        finally:
            process.kill()
            process.communicate()
            front.close()
    assert out.split(maxsplit=1) == [str(process.pid), "b'you are seen'\n"], errors
    [found] = front.peers
    assert (found.pid, found.uid, found.gid) == (process.pid, 3_000_000_001, 3_100_000_001)
    assert sorted(found.groups) == [3_100_000_002, 3_100_000_003]


def test_it_needs_no_event_loop_of_its_caller(tmp_path: Path) -> None:
    """And has none of its own in common with one."""

    async def inside() -> bool:
        front = Front(tmp_path)
        front.start()
        try:
            return await asyncio.get_running_loop().run_in_executor(None, front.stands)
        finally:
            front.close()

    assert asyncio.run(inside())
