"""The keeper's workers: how their ends are seen, with the kernel's help and without it, and what memory they get."""

from __future__ import annotations

import errno
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from jitc.proxy.keeper import protocol
from jitc.proxy.keeper.process.children import KEEPER, READY, Children
from jitc.proxy.keeper.process.shelf import Shelf
from jitc.proxy.keeper.worker_end import NoMemory, WorkerEnd
from jitc.proxy.node.workers import processes

KINDS = ["pidfd", "without"]
#: Says that it has begun, and ends when it is told to.
WAITS = [sys.executable, "-c", "import os, signal, sys; os.write(int(sys.argv[1]), b'x'); signal.pause()", READY]
TAKES = """
import json, os, socket, sys
from jitc.proxy.keeper.worker_end import WorkerEnd
end = WorkerEnd(socket.socket(fileno=int(sys.argv[2])))
taken = end.take(json.loads(sys.argv[3]))
print(json.dumps({name: os.pread(fd, 100, 0).decode() for name, fd in taken.items()}), flush=True)
os.write(int(sys.argv[1]), b"x")
"""


class Keeper:
    """The keeper's loop, in the main thread: it is the one that hears signals."""

    def __init__(self) -> None:
        self.selector, self.shelf = selectors.DefaultSelector(), Shelf()
        self.children = Children(self.selector, self.shelf.taken)

    def spawn(self, command: list[str], output: int) -> int:
        """Returns a worker that has begun."""
        read, write = os.pipe()
        pid = self.children.spawn(command, dict(os.environ), write, output)
        os.close(write)
        while not self._readable(read):
            self.look()
        os.close(read)
        return pid

    def numbers(self) -> list[int]:
        return [int(one) for one in self.children.prefixes()]

    def look(self, seconds: float = 0.1) -> None:
        for key, _ in self.selector.select(seconds):
            key.data()

    def until_ended(self, descriptor: int) -> None:
        for _ in range(200):
            if processes.ended(descriptor):
                return
            self.look()
        pytest.fail("its end is not seen")

    @staticmethod
    def _readable(descriptor: int) -> bool:
        return processes.ended(descriptor)


def forget_pidfds(patch: pytest.MonkeyPatch) -> None:
    """As on a kernel without them."""

    def missing(*_: object) -> int:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    patch.setattr(os, "pidfd_open", missing)
    patch.setattr(signal, "pidfd_send_signal", missing)


@pytest.fixture(params=KINDS)
def keeper(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keeper]:
    before = signal.getsignal(signal.SIGCHLD)
    if request.param == "without":
        forget_pidfds(monkeypatch)
    one = Keeper()
    yield one
    one.children.end()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, before)


def test_an_end_is_seen_and_keeps_its_number(keeper: Keeper) -> None:
    pid = keeper.spawn(WAITS, 2)
    descriptor = keeper.children.descriptor(pid)
    assert descriptor is not None and not processes.ended(descriptor)
    assert keeper.children.reap(pid) is None and keeper.numbers() == [pid]
    keeper.children.signal(pid, signal.SIGTERM, descriptor)
    keeper.until_ended(descriptor)
    assert keeper.numbers() == [pid]
    assert keeper.children.reap(pid) == -signal.SIGTERM
    assert keeper.numbers() == [] and keeper.children.descriptor(pid) is None
    assert keeper.children.reap(pid) is None


def test_one_that_ends_at_once_is_seen(keeper: Keeper) -> None:
    ends = [sys.executable, "-c", "import os, sys; os.write(int(sys.argv[1]), b'x')", READY]
    for _ in range(5):
        pid = keeper.spawn(ends, 2)
        descriptor = keeper.children.descriptor(pid)
        assert descriptor is not None
        keeper.until_ended(descriptor)
        assert keeper.children.reap(pid) == 0


#: In a process of its own: no thread of another test opens or closes anything meanwhile.
ALONE = """
import sys
sys.path[:0] = sys.argv[2:]
import pytest, test_children
if sys.argv[1] == "without":
    test_children.forget_pidfds(pytest.MonkeyPatch())
print(*test_children.open_after_each(test_children.Keeper()))
"""


def open_after_each(keeper: Keeper) -> Iterator[int]:
    """Descriptors of this process after each of some workers."""
    for _ in range(4):
        pid = keeper.spawn(WAITS, 2)
        descriptor = keeper.children.descriptor(pid)
        assert descriptor is not None
        keeper.children.signal(pid, signal.SIGKILL, descriptor)
        keeper.until_ended(descriptor)
        keeper.children.reap(pid)
        yield len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_left_open(kind: str) -> None:
    words = [sys.executable, "-c", ALONE, kind, *sys.path]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    _, *later = done.stdout.split()
    assert len(later) == 3 and len(set(later)) == 1, (done.stdout, done.stderr)


def test_a_signal_reaches_no_other_process(keeper: Keeper) -> None:
    """Of a number that is none of the keeper's."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        nothing = os.open(os.devnull, os.O_RDONLY)
        keeper.children.signal(stranger.pid, signal.SIGKILL, nothing)
        os.close(nothing)
        assert stranger.poll() is None
        stranger.communicate(b"\n", timeout=20)
    assert stranger.returncode == 0


def test_a_worker_gets_what_it_names(keeper: Keeper, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("board", "3/journal", "secret"):
        keeper.shelf.keep(name, os.memfd_create(name), "")
        os.write(keeper.shelf._kept[name], name.encode())
    wanted = json.dumps(["board", "3/journal", "4/journal"])
    keeper.spawn([sys.executable, "-c", TAKES, READY, KEEPER, wanted], 1)
    assert json.loads(capfd.readouterr().out) == {"board": "board", "3/journal": "3/journal"}
    for descriptor in keeper.shelf._kept.values():
        os.close(descriptor)


@pytest.mark.parametrize("packet", [b"", b"no JSON", b"[]", b"{}", b'{"take": 7}', b'{"do": "end"}', b"x" * 10_000])
def test_what_a_worker_must_not_say_ends_its_connection_alone(packet: bytes, keeper: Keeper) -> None:
    says = "import os, socket, sys; s = socket.socket(fileno=int(sys.argv[2])); s.send(sys.argv[3].encode());" \
        "s.settimeout(20); s.recv(10); os.write(int(sys.argv[1]), b'x'); import signal; signal.pause()"  # fmt: skip
    pid = keeper.spawn([sys.executable, "-c", says, READY, KEEPER, packet.decode()], 2)
    descriptor = keeper.children.descriptor(pid)
    assert descriptor is not None and not processes.ended(descriptor), "its connection has not ended"
    assert keeper.numbers() == [pid]


def test_no_more_than_a_packet_carries() -> None:
    shelf = Shelf()
    kept = [str(number) for number in range(20)]
    for number, name in enumerate(kept):
        shelf.keep(name, number, "")
    answer, given = shelf.taken([*kept, "none"])
    assert answer["taken"] == kept[: protocol.DESCRIPTORS] and given == list(range(protocol.DESCRIPTORS))


class Answers(threading.Thread):
    """Stands for the keeper: answers one request."""

    def __init__(self, connection: socket.socket, answer: dict[str, Any] | None, descriptors: list[int]) -> None:
        super().__init__()
        self.connection, self.answer, self.descriptors = connection, answer, descriptors
        self.start()

    def run(self) -> None:
        protocol.receive(self.connection)
        if self.answer is not None:
            protocol.send(self.connection, self.answer, self.descriptors)
        self.connection.close()


@pytest.mark.parametrize(
    ("answer", "says"), [(None, "does not answer"), ({protocol.TOO_MANY: True}, "no more descriptors")]
)
def test_why_a_worker_gets_nothing(answer: dict[str, Any] | None, says: str) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    thread = Answers(theirs, answer, [])
    with pytest.raises(NoMemory, match=says):
        WorkerEnd(ours).take(["board"])
    thread.join()
    ours.close()
