"""The keeper's process: what it holds outlives its service, and whoever is not its service gets nothing of it."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from toolkit.program import Program, ProgramProcess
from toolkit.waiting import stop_process, until

from jitc.proxy.keeper import launch, line, protocol
from jitc.proxy.keeper.claim.socket_lock import SocketInUse, SocketLock
from jitc.proxy.keeper.client import Keeper
from jitc.proxy.keeper.launch import open_keeper, process_of_keeper, sessions_kept
from jitc.proxy.keeper.line import KeeperLost
from jitc.proxy.keeper.process.children import READY

VERSIONS = {"keeper": 1}
SLEEPER = [sys.executable, "-c", "import os, sys, time; os.write(int(sys.argv[1]), b'ready'); time.sleep(1000)", READY]


class Place:
    """Keepers on one socket."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.open_ones: list[tuple[Keeper, SocketLock]] = []

    def open(self, replace: bool = False, versions: dict[str, int] = VERSIONS) -> tuple[Keeper, bool]:
        lock = SocketLock(str(self.folder / "s"), self.folder / "s.d")
        keeper, there = open_keeper(lock, versions, replace)
        self.open_ones.append((keeper, lock))
        return keeper, there

    def gone(self) -> bool:
        return not (self.folder / "s.d").exists()

    def program(self, keeper: Keeper) -> Program:
        """For which a keeper without a service stays."""
        one = Program(self.folder / "s")
        assert keeper.watch(one.ticket) == os.getpid()
        return one

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(str(self.folder / "s.d" / "keeper"))
        return connection


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    one = Place(tmp_path)
    yield one
    for keeper, lock in one.open_ones:
        keeper.end()
        lock.release()
    assert one.gone()
    assert not list(tmp_path.iterdir())


def memory(content: bytes) -> int:
    descriptor = os.memfd_create("test")
    os.write(descriptor, content)
    return descriptor


def spawn(keeper: Keeper) -> int:
    """A process of the keeper's that has begun."""
    read, write = os.pipe()
    pid = keeper.spawn(SLEEPER, dict(os.environ), write)
    os.close(write)
    assert os.read(read, 16) == b"ready"
    os.close(read)
    return pid


def content(keeper: Keeper, name: str) -> bytes:
    """What the keeper has under this name, from its beginning on."""
    descriptor = keeper.take([name])[name]
    try:
        return os.pread(descriptor, 100, 0)
    finally:
        os.close(descriptor)


def ended(pid: int) -> bool:
    """Whether the kernel counts the process as ended, or does not know it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def descriptors_of(keeper: Keeper) -> int:
    return len(os.listdir(f"/proc/{keeper.pid}/fd"))


def test_what_is_kept_outlives_the_service(place: Place) -> None:
    first, there = place.open()
    assert not there
    one, two = memory(b"one"), memory(b"two")
    first.keep("a", one)
    first.keep("b", one)
    first.keep("a", two)
    assert content(first, "a") == b"two"  # in place of the other
    first.drop(["b", "never kept"])
    pid = spawn(first)
    place.program(first)
    first.leave()
    for descriptor in (one, two):
        os.close(descriptor)
    second, there = place.open()
    assert there
    assert list(second.kept) == ["a"]
    assert content(second, "a") == b"two"
    assert second.take(["b", "never kept"]) == {}
    assert second.children == [pid]
    second.end()
    assert place.gone()
    assert ended(pid)


def test_a_process_keeps_its_number_until_it_is_reaped(place: Place) -> None:
    keeper, _ = place.open()
    pid = spawn(keeper)
    keeper.reap(pid)  # it lives
    os.kill(pid, signal.SIGKILL)
    until(lambda: ended(pid), 10, "it has ended")
    place.program(keeper)
    keeper.leave()
    second, _ = place.open()
    assert second.children == [pid]
    second.reap(pid)
    assert not Path(f"/proc/{pid}").exists()


def test_without_service_and_programs_it_ends(place: Place) -> None:
    keeper, _ = place.open()
    program = ProgramProcess(place.folder / "s")
    worker = spawn(keeper)
    assert keeper.watch(program.ticket) == program.process.pid
    keeper.leave()
    second, there = place.open()
    assert there
    second.leave()
    assert Path(f"/proc/{worker}").exists()
    program.kill()
    until(place.gone, 20, "the keeper has ended")
    until(lambda: not Path(f"/proc/{worker}").exists(), 10, "its worker has ended")


def test_there_is_one_service(place: Place) -> None:
    first, _ = place.open()
    with pytest.raises(SocketInUse, match="already serves"):
        place.open()
    with pytest.raises(SocketInUse, match="another version"):
        place.open(versions={"keeper": 2})
    with pytest.raises(SocketInUse, match="another version"):
        place.open(replace=True, versions={"keeper": 2})
    read, write = os.pipe()

    def asked() -> None:
        os.write(write, b"x")

    first.when_handing_over(asked)
    place.program(first)
    successor = subprocess.Popen([sys.executable, "-c", SUCCESSOR, str(place.folder)], stdout=subprocess.PIPE)
    assert os.read(read, 1) == b"x"
    assert successor.poll() is None
    first.leave()
    out, _ = successor.communicate(timeout=30)
    assert out == b"took over\n"
    for descriptor in (read, write):
        os.close(descriptor)


SUCCESSOR = """
import sys
from pathlib import Path
from jitc.proxy.keeper.launch import open_keeper
from jitc.proxy.keeper.claim.socket_lock import SocketLock
folder = Path(sys.argv[1])
keeper, there = open_keeper(SocketLock(str(folder / "s"), folder / "s.d"), {"keeper": 1}, True)
assert there
print("took over")
keeper.end()
"""


class Standing:
    """A service that another one replaces, and that other one, in processes of their own."""

    def __init__(self, place: Place) -> None:
        self.before = self._started(place, BEFORE)
        assert self._line(self.before) == "serves"
        self.next = self._started(place, NEXT)

    @staticmethod
    def _started(place: Place, script: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", OPENS + script, str(place.folder)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def says(self, text: str) -> None:
        """What the next service does."""
        assert self.next.stdin is not None
        self.next.stdin.write(text + "\n")
        self.next.stdin.flush()

    def said(self) -> str:
        return self._line(self.next)

    @staticmethod
    def _line(process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        return process.stdout.readline().strip()

    def end(self) -> str:
        """Ends the next service. Returns what the one before has said to its end."""
        out, _ = self.before.communicate(timeout=30)
        assert self.before.returncode == 0
        self.next.kill()
        self.next.communicate()
        return out.strip()


OPENS = """
import os, signal, sys
from pathlib import Path
from jitc.proxy.keeper.launch import open_keeper
from jitc.proxy.keeper.claim.socket_lock import SocketLock
folder = Path(sys.argv[1])
keeper, there = open_keeper(SocketLock(str(folder / "s"), folder / "s.d"), {"keeper": 1}, True)
"""
#: Another program in its place waits, as hand_over.py has it.
BEFORE = """
import threading
keeper.keep("a", os.memfd_create("a"))
asked = threading.Event()
keeper.when_handing_over(asked.set)
print("serves", flush=True)
asked.wait(60)
os.set_inheritable(keeper.handed_on(), True)
stands_by = "import sys; from jitc.proxy.keeper.backup import Backup as B; from jitc.proxy.keeper.launch import *;" \\
    "keeper = stand_by(int(sys.argv[1]), B());" \\
    "print('replaced' if keeper is None else f'goes on with {keeper.kept}', flush=True)"
os.execv(sys.executable, [sys.executable, "-c", stands_by, str(keeper.handed_on())])
"""
NEXT = """
print("took over", flush=True)
for line in sys.stdin:
    if line.strip() == "end":
        os.kill(os.getpid(), signal.SIGKILL)
    keeper.serving(settled=line.strip() == "settled")
    print("told", flush=True)
"""


@pytest.mark.parametrize("settled", [True, False], ids=["it serves", "it ends"])
def test_a_service_stands_by_until_the_next_one_serves(settled: bool, place: Place) -> None:
    both = Standing(place)
    assert both.said() == "took over"
    both.says("not yet")
    assert both.said() == "told" and both.before.poll() is None
    both.says("settled" if settled else "end")
    assert both.end() == ("replaced" if settled else "goes on with ['a']")
    until(place.gone, 20, "the keeper has ended")


def test_a_third_service_is_refused_meanwhile(place: Place) -> None:
    both = Standing(place)
    assert both.said() == "took over"
    with pytest.raises(SocketInUse, match="already serves"):
        place.open(replace=True)
    both.says("settled")
    assert both.end() == "replaced"
    until(place.gone, 20, "the keeper has ended")


def test_it_counts_sessions_for_whoever_asks(place: Place) -> None:
    keeper, _ = place.open()
    assert sessions_kept(place.folder / "s.d") == 0
    descriptor = memory(b"x")
    for one in ("1/journal", "1/snapshot", "2/journal", "board"):
        keeper.keep(one, descriptor)
    os.close(descriptor)
    assert sessions_kept(place.folder / "s.d") == 2
    assert sessions_kept(place.folder) is None


def test_strangers_get_nothing(place: Place) -> None:
    """Whatever a connection says that is not the service's, its end is all that comes of it."""
    keeper, _ = place.open()
    keeper.keep("a", descriptor := memory(b"secret"))
    os.close(descriptor)
    before = descriptors_of(keeper)
    for text in (
        b"",
        b"no JSON",
        b"[]",
        b"{}",
        b'{"do": "end"}',
        b'{"versions": 7}',
        b"x" * (1 << 17),
        b'{"do": "drop"',
    ):
        with place.connect() as connection:
            if text:
                connection.send(text)
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(10)
            answer = connection.recv(1 << 16)
            assert answer == b"" or b"refused" in answer, (text, answer)
    with place.connect() as connection:  # more descriptors than any message has
        socket.send_fds(connection, [b"{}"], [0] * 20)
        assert connection.recv(1 << 16) == b""
    assert descriptors_of(keeper) == before
    crowd = [place.connect() for _ in range(40)]
    keeper.keep("b", memory(b"still there"))
    assert content(keeper, "b") == b"still there"
    for connection in crowd:
        connection.close()


def test_other_users_are_turned_away(place: Place) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    place.open()
    folder = place.folder / "s.d"
    for one in (*place.folder.parents, place.folder, folder):
        if str(one).startswith("/tmp/"):
            one.chmod(0o755)
    (folder / "keeper").chmod(0o666)
    script = (
        "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET);"
        's.connect(sys.argv[1]); s.send(b\'{"versions": {"keeper": 1}, "replace": true}\'); print(s.recv(100))'
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder / "keeper")], capture_output=True, text=True, timeout=30, check=False
    )
    folder.chmod(0o700)
    assert "kept" not in done.stdout
    assert done.stdout.strip() == "b''" or "Broken pipe" in done.stderr or "reset" in done.stderr, done


def test_it_can_have_no_more_descriptors(place: Place) -> None:
    """That call fails; what is kept stays, and the next call is answered as it should be."""
    keeper, _ = place.open()
    descriptor = memory(b"x")
    keeper.keep("first", descriptor)
    used = set(map(int, os.listdir(f"/proc/{keeper.pid}/fd")))
    free = min(set(range(1000)) - used)  # the number that the next one would get
    resource.prlimit(keeper.pid, resource.RLIMIT_NOFILE, (free, 4096))
    with pytest.raises(OSError, match="no more descriptors"):
        keeper.keep("second", descriptor)
    assert content(keeper, "first") == b"x"
    resource.prlimit(keeper.pid, resource.RLIMIT_NOFILE, (1024, 4096))
    keeper.keep("second", descriptor)
    assert content(keeper, "second") == b"x"
    os.close(descriptor)


def test_an_answer_that_comes_too_late_is_nobody_s(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper, _ = place.open()
    one, two = memory(b"one"), memory(b"two")
    os.kill(keeper.pid, signal.SIGSTOP)
    with monkeypatch.context() as during:
        during.setattr(line, "ANSWER_SECONDS", 0.2)
        with pytest.raises(KeeperLost, match="does not answer"):
            keeper.keep("one", one)
    os.kill(keeper.pid, signal.SIGCONT)
    keeper.keep("two", two)
    assert content(keeper, "two") == b"two"
    for descriptor in (one, two):
        os.close(descriptor)


@pytest.mark.parametrize("replace", [False, True])
def test_one_that_is_stopped_is_named(replace: bool, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that finds it does not wait without end; the service that it has is none the worse for that."""
    monkeypatch.setattr(launch, "REPLACE_SECONDS" if replace else "WELCOME_SECONDS", 0.2)
    keeper, _ = place.open()
    descriptor = memory(b"x")
    keeper.keep("a", descriptor)
    os.close(descriptor)
    stop_process(keeper.pid)
    with pytest.raises(SocketInUse) as refused:
        place.open(replace)
    os.kill(keeper.pid, signal.SIGCONT)
    assert f"jitc-keeper (process {keeper.pid}), which has {place.folder}/s, does not answer" in str(refused.value)
    assert f"(kill -CONT {keeper.pid})" in str(refused.value)
    assert content(keeper, "a") == b"x"


def test_one_whose_service_makes_no_room_is_not_blamed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "REPLACE_SECONDS", 0.2)
    keeper, _ = place.open()
    with pytest.raises(SocketInUse, match=f"the jitc-proxyd that serves {place.folder}/s does not make room"):
        place.open(replace=True)
    assert keeper.lost is False


def test_one_that_is_stopped_for_long(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its queue is full of those that have given up, so that nobody can even connect."""
    monkeypatch.setattr(launch, "ASKED_SECONDS", 1.0)
    keeper, _ = place.open()
    stop_process(keeper.pid)
    gave_up = []
    with pytest.raises(BlockingIOError):
        while True:
            gave_up.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            gave_up[-1].setblocking(False)
            gave_up[-1].connect(str(place.folder / "s.d" / "keeper"))
    for one in gave_up:
        one.close()
    with pytest.raises(SocketInUse, match="does not answer"):
        place.open()
    assert sessions_kept(place.folder / "s.d") is None
    os.kill(keeper.pid, signal.SIGCONT)
    until(lambda: sessions_kept(place.folder / "s.d") == 0, 20, "it has looked at all of them")


def test_its_process_is_known_to_who_connects(place: Place) -> None:
    """Not that of the service, which has made its socket."""
    assert process_of_keeper(place.folder / "s.d") == 0
    keeper, _ = place.open()
    assert keeper.process is not None
    assert process_of_keeper(place.folder / "s.d") == keeper.pid == keeper.process.pid


def test_its_end_is_told(place: Place) -> None:
    keeper, _ = place.open()
    told: list[bool] = []
    keeper.when_lost(lambda: told.append(True))
    worker = spawn(keeper)
    os.kill(keeper.pid, signal.SIGKILL)
    until(lambda: bool(told), 10, "the service learns of it")
    assert told == [True]
    with pytest.raises(KeeperLost):
        keeper.reap(worker)
    assert keeper.process is not None
    keeper.process.wait(10)
    os.kill(worker, signal.SIGKILL)  # no worker that asks the kernel to end with its parent


def test_packets() -> None:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with one, other:
        protocol.send(protocol.roomy(one), {"text": "x" * 100_000}, [0])
        document, descriptors = protocol.receive(other)
        assert len(document["text"]) == 100_000
        assert len(descriptors) == 1
        assert not os.get_inheritable(descriptors[0])
        protocol.close(descriptors)
        with pytest.raises(protocol.TooLarge, match="too large"):
            protocol.send(one, {"text": "x" * protocol.LIMIT})
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 50_000)  # a machine that gives a connection less
        with pytest.raises(protocol.TooLarge, match="which takes 98976"):
            protocol.send(one, {"text": "x" * 100_000})
        before = len(os.listdir("/proc/self/fd"))
        for text in (b"[1]", b"nothing", b"\xff"):
            socket.send_fds(one, [text], [0])
            with pytest.raises(protocol.Malformed):
                protocol.receive(other)
        assert len(os.listdir("/proc/self/fd")) == before
        one.close()
        with pytest.raises(protocol.Closed):
            protocol.receive(other)
