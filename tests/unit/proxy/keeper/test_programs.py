"""Training processes at the keeper: their end is told, and nobody gets, breaks or holds up what is another's."""

from __future__ import annotations

import os
import resource
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest
from toolkit.program import Program, ProgramProcess
from toolkit.sandbox import pid_namespace
from toolkit.waiting import until

from jitc.proxy.keeper import protocol
from jitc.proxy.keeper.claim.socket_lock import SocketLock
from jitc.proxy.keeper.launch import open_keeper
from jitc.proxy.keeper.process import programs, shelf
from jitc.proxy.keeper.process.server import Keeper as Server

TOKEN, OTHER = "a" * 32, "b" * 32


class Kept:
    """A keeper with a service, and what it has told of programs' ends."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "s"
        self.lock = SocketLock(str(self.socket), folder / "s.d")
        self.keeper, _ = open_keeper(self.lock, {"keeper": 1}, False)
        self.told: SimpleQueue[str] = SimpleQueue()
        self.keeper.when_ended(self.told.put)
        self.programs: list[Program] = []

    def program(self) -> Program:
        self.programs.append(Program(self.socket))
        return self.programs[-1]

    def watched(self) -> Program:
        program = self.program()
        assert self.keeper.watch(program.ticket) == os.getpid()
        return program

    def keep(self, name: str, content: bytes, token: str = "") -> None:
        descriptor = os.memfd_create(name)
        os.write(descriptor, content)
        self.keeper.keep(name, descriptor, token)
        os.close(descriptor)

    def nothing_told(self) -> bool:
        """Of what was before: the keeper answers in order."""
        self.keeper.drop([])
        try:
            self.told.get_nowait()
        except Empty:
            return True
        return False

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.keeper.pid}/fd"))

    def close(self) -> None:
        for program in self.programs:
            program.close()
        self.keeper.end()
        self.lock.release()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    one = Kept(tmp_path)
    yield one
    one.close()
    assert not list(tmp_path.iterdir())


def content(descriptor: int) -> bytes:
    assert descriptor >= 0
    with open(descriptor, "rb") as memory:
        memory.seek(0)
        return memory.read()


def test_each_is_given_its_own_memory(kept: Kept) -> None:
    kept.keep("1/pinned", b"mine", TOKEN)
    kept.keep("2/pinned", b"another's", OTHER)
    kept.keep("1/journal", b"nobody's")
    assert content(kept.program().memory(TOKEN)) == b"mine"
    assert content(kept.program().memory(OTHER)) == b"another's"
    kept.keep("1/pinned", b"newer", TOKEN)
    assert content(kept.program().memory(TOKEN)) == b"newer"
    kept.keeper.drop(["1/pinned"])
    assert kept.program().memory(TOKEN) == -1
    assert content(kept.program().memory(OTHER)) == b"another's"


@pytest.mark.parametrize(
    "said",
    [b"c" * 32, b"", b"a" * 31, b"a" * 33, b"a" * 60000, b"\0" * 32, b"\xff" * 32, b'{"do": "end", "x": 12345678}'],
)
def test_another_word_sends_it_away(said: bytes, kept: Kept) -> None:
    kept.keep("1/pinned", b"mine", TOKEN)
    kept.keep("1/journal", b"nobody's")
    before, bystander = kept.descriptors(), kept.watched()
    program = kept.watched()
    socket.send_fds(program.connection, [said], [0] * 10)
    assert program.connection.recv(100) == b""
    assert kept.told.get(timeout=20) == program.ticket
    assert content(bystander.memory(TOKEN)) == b"mine"
    bystander.close()
    assert kept.told.get(timeout=20) == bystander.ticket
    until(lambda: kept.descriptors() == before, 20, "nothing of them is left")


def test_every_digit_of_a_token_counts() -> None:
    assert shelf.same(TOKEN, TOKEN.encode())
    for at in range(len(TOKEN)):
        assert not shelf.same(TOKEN, (TOKEN[:at] + "x" + TOKEN[at + 1 :]).encode()), f"digit {at}"


def test_memory_is_given_once(kept: Kept) -> None:
    """So that what is on its way to a program that does not read stays little."""
    kept.keep("1/pinned", b"mine", TOKEN)
    program = kept.watched()
    assert content(program.memory(TOKEN)) == b"mine"
    assert program.memory(TOKEN) == -1
    assert kept.told.get(timeout=20) == program.ticket


def test_its_end_is_told(kept: Kept) -> None:
    closed, unknown, staying = kept.watched(), kept.program(), kept.watched()
    assert kept.keeper.watch("0" * 32) is None
    unknown.close()  # nobody has asked
    closed.close()
    assert kept.told.get(timeout=20) == closed.ticket
    assert kept.keeper.watch(closed.ticket) is None
    assert kept.keeper.watch(unknown.ticket) is None
    assert kept.keeper.watch(staying.ticket) == os.getpid()
    assert kept.nothing_told()


@pytest.mark.parametrize("where", ["here", "in a PID namespace of its own"])
def test_a_process_s_end_is_told(where: str, kept: Kept) -> None:
    """Not that it is stopped."""
    before = () if where == "here" else pid_namespace()
    if where != "here" and not before:
        pytest.skip("no namespace of processes can be made here")
    one = ProgramProcess(kept.socket, before)
    seen = kept.keeper.watch(one.ticket)
    assert seen
    assert Path(f"/proc/{seen}/cmdline").read_bytes().startswith(sys.executable.encode())
    os.kill(seen, signal.SIGSTOP)
    assert kept.nothing_told()
    assert kept.keeper.watch(one.ticket) == seen
    os.kill(seen, signal.SIGKILL)
    assert kept.told.get(timeout=20) == one.ticket
    one.kill()


def test_a_child_does_not_keep_it_alive(kept: Kept) -> None:
    """Which has the connection, as one has that was made by clone without the C library."""
    one = ProgramProcess(kept.socket, fork=True)
    assert kept.keeper.watch(one.ticket) == one.process.pid
    one.kill()
    try:
        assert kept.told.get(timeout=20) == one.ticket
        os.kill(one.child, 0)
    finally:
        os.kill(one.child, signal.SIGKILL)


def test_there_is_a_limit(kept: Kept) -> None:
    """Who comes beyond it is turned away; services and programs that are there are not concerned."""
    kept.keep("1/pinned", b"mine", TOKEN)
    first = kept.watched()
    crowd = [kept.watched() for _ in range(programs.MOST - 1)]
    with pytest.raises(AssertionError, match="no ticket"):
        kept.program()
    assert content(first.memory(TOKEN)) == b"mine"
    crowd[0].close()
    assert until(lambda: kept.keeper.watch(crowd[0].ticket) is None or None, 20, "its end")
    kept.watched()


def test_a_crowd_that_no_service_knows_keeps_nobody_away(kept: Kept) -> None:
    """Who comes when there is no room takes the place of the one that has said nothing for the longest time."""
    kept.keep("1/pinned", b"mine", TOKEN)
    first = kept.watched()
    crowd = [kept.program() for _ in range(programs.MOST + 10)]
    assert content(kept.watched().memory(TOKEN)) == b"mine"
    assert first.stands()
    until(lambda: not crowd[11].stands(), 20, "the oldest of the crowd have been sent away")
    assert crowd[12].stands()


def test_who_is_idle_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a program that the service has asked for, however long it says nothing."""
    ours, theirs = zip(*(socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)), strict=True)
    listener, selector = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET), selectors.DefaultSelector()
    those, coming = programs.Programs(listener, selector, lambda token: -1), list(theirs)
    monkeypatch.setattr(those._door, "accept", lambda: coming.pop(0))
    for _ in theirs:
        those._accept()
    tickets = [one.recv(100).decode() for one in ours]
    assert those.watch(tickets[0], "") == os.getpid()
    now = time.monotonic()
    for later, there in ((0.0, True), (programs.IDLE_SECONDS - 5, True), (programs.IDLE_SECONDS + 5, False)):
        monkeypatch.setattr(time, "monotonic", lambda later=later: now + later)
        assert those.waits()
        those.look()
        assert (tickets[1] in those._programs) is there
    assert those.watch(tickets[0], "") == os.getpid()
    assert ours[1].recv(100) == b""
    assert not those.waits()
    those.close()
    for one in (*ours, selector):
        one.close()


def test_it_can_have_no_more_descriptors(kept: Kept) -> None:
    """Who comes then is turned away at once, and the keeper does not go round and round."""
    first = kept.watched()
    limits = resource.prlimit(kept.keeper.pid, resource.RLIMIT_NOFILE)
    used = set(map(int, os.listdir(f"/proc/{kept.keeper.pid}/fd")))
    resource.prlimit(kept.keeper.pid, resource.RLIMIT_NOFILE, (min(set(range(1000)) - used), limits[1]))
    for _ in range(3):
        with pytest.raises((AssertionError, OSError)):
            kept.program()
    assert kept.keeper.watch(first.ticket) == os.getpid()
    resource.prlimit(kept.keeper.pid, resource.RLIMIT_NOFILE, limits)
    kept.watched()


def test_a_service_that_does_not_read_is_told_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more ends than its connection has room for; meanwhile the keeper serves programs."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)  # the least that the kernel allows
    monkeypatch.setattr(protocol, "roomy", lambda connection: connection)
    (tmp_path / "s.d").mkdir()
    listeners = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
    for listener, name in zip(listeners, (protocol.NAME, protocol.PROGRAMS_NAME), strict=True):
        listener.bind(str(tmp_path / "s.d" / name))
        listener.listen(64)
    server = Server(*listeners, theirs, SocketLock("", tmp_path))  # type: ignore[call-arg]
    thread = threading.Thread(target=server.run)
    thread.start()

    def ask(**request: object) -> dict[str, object]:
        protocol.send(ours, {**request, "number": 1})
        return protocol.receive(ours)[0]

    try:
        assert "kept" in ask(versions=1, replace=False)
        crowd = [Program(tmp_path / "s") for _ in range(100)]
        for one in crowd:
            assert ask(do="watch", program=one.ticket, prefix="")["there"]
        for one in crowd:
            one.close()
        Program(tmp_path / "s").close()  # it has heard of all of them
        assert len(server._programs.ended()) > 50
        told = [protocol.receive(ours)[0]["program"] for _ in crowd]
        assert told == [one.ticket for one in crowd]
    finally:
        protocol.send(ours, {"do": "end", "number": 2})
        thread.join(20)
        for one in (*listeners, ours):
            one.close()


def test_strangers_are_not_waited_for(kept: Kept, tmp_path: Path) -> None:
    """A crowd at the services' socket that says nothing keeps no service away."""
    crowd = []
    for _ in range(60):
        crowd.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        crowd[-1].connect(str(kept.socket) + ".d/keeper")
    kept.watched()
    kept.keeper.leave()
    lock = SocketLock(str(kept.socket), tmp_path / "s.d")
    again, there = open_keeper(lock, {"keeper": 1}, False)
    assert there
    kept.keeper, kept.lock = again, lock
    for one in crowd:
        one.close()


def test_other_users_are_turned_away(kept: Kept, tmp_path: Path) -> None:
    """By the keeper too, where the socket's mode would let them in."""
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    for one in (*tmp_path.parents, tmp_path, tmp_path / "s.d"):
        if str(one).startswith("/tmp/"):
            one.chmod(0o755)
    path = tmp_path / "s.d" / "programs"
    path.chmod(0o666)
    script = (
        "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET);"
        "s.connect(sys.argv[1]); s.settimeout(20); print(s.recv(100))"
    )
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, timeout=30, check=False)
    (tmp_path / "s.d").chmod(0o700)
    assert done.stdout.strip() == "b''" or "reset" in done.stderr, done


def test_without_a_service_it_stays_for_those_that_were_watched(kept: Kept) -> None:
    """And for no others, however long they stay connected."""
    watched, other = kept.watched(), kept.program()
    kept.keeper.leave()
    kept.lock.close()
    assert watched.stands()
    assert other.stands()
    watched.close()
    until(lambda: not other.stands(), 20, "the keeper has ended")
    until(lambda: not Path(f"{kept.socket}.d").exists(), 20, "nothing is left")


def test_what_is_known_of_a_process_by_older_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its number, where it is to be seen; else nothing but its connection."""
    monkeypatch.setattr(programs, "_SO_PEERPIDFD", 9999)
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with one, other:
        known = programs._process(one, os.getpid())
        assert known >= 0
        assert not programs._ended(known)
        os.close(known)
        assert programs._process(one, 0) == -1
        assert not programs._ended(-1)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    (tmp_path / "s.d").mkdir()
    listener.bind(str(tmp_path / "s.d" / "programs"))
    listener.listen(1)
    monkeypatch.setattr(os, "pidfd_open", lambda pid: (_ for _ in ()).throw(OSError(38, "no such call")))
    selector = selectors.DefaultSelector()
    those = programs.Programs(listener, selector, lambda token: -1)
    with listener, selector, ThreadPoolExecutor(1) as other_end:
        connecting = other_end.submit(Program, tmp_path / "s")
        selector.select(20)[0][0].data()
        program = connecting.result(20)
        assert those.watch(program.ticket, "") == os.getpid()
        assert [key.fileobj for key in selector.get_map().values() if isinstance(key.fileobj, int)] == []
        program.close()
        (key, _) = selector.select(20)[0]
        key.data()
        assert those.ended() == [program.ticket]
        assert those.watch(program.ticket, "") is None
