"""A keeper of several users: workers run as theirs, and neither a worker nor a program gets what is another's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from toolkit.program import Program
from toolkit.tree import ROOT
from toolkit.waiting import until

from jitc.proxy.keeper import privileges
from jitc.proxy.keeper.admission import Admission
from jitc.proxy.keeper.claim.socket_lock import SocketLock
from jitc.proxy.keeper.client import Keeper
from jitc.proxy.keeper.owner import Owner, prefix_in
from jitc.proxy.keeper.process import programs, shelf
from jitc.proxy.keeper.process.become import become
from jitc.proxy.keeper.process.children import KEEPER, READY

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root's keeper has workers of other users")

ANN, BOB, EVE = Owner(1001, 1001, (5, 7000)), Owner(1002, 1002), Owner(1003, 1003)
TOKEN = "a" * 32


class Place:
    """A keeper in whose log a test can read."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self.folder, self.log = folder, folder / "log"
        self.lock = SocketLock(str(folder / "s"), folder / "s.d")
        with self.log.open("wb") as log:
            before = os.dup(2)
            os.dup2(log.fileno(), 2)
            try:
                from jitc.proxy.keeper.launch import open_keeper

                self.keeper, _ = open_keeper(self.lock, {"keeper": 1}, False)
            finally:
                os.dup2(before, 2)
                os.close(before)
        self.keeper.admit(Admission.of(f"{ANN.uid},{BOB.uid}"))
        assert self.lock.let_pass(True) == ""
        self.pids: list[int] = []

    def worker(self, keeper: Keeper, script: str) -> int:
        """A worker that has begun, of the view's user."""
        read, write = os.pipe()
        pid = keeper.spawn(["/bin/sh", "-c", f"echo x >&$0; {script}; exec sleep 1000", READY, KEEPER], {}, write)
        os.close(write)
        assert os.read(read, 16) == b"x\n"
        os.close(read)
        self.pids.append(pid)
        return pid

    def keep(self, keeper: Keeper, name: str, content: bytes, token: str = "") -> None:
        descriptor = os.memfd_create(name)
        os.write(descriptor, content)
        keeper.keep(name, descriptor, token)
        os.close(descriptor)

    def close(self) -> None:
        self.keeper.end()
        self.lock.release()
        self.log.unlink()
        for pid in self.pids:
            assert not Path(f"/proc/{pid}").exists()


@pytest.fixture
def place() -> Iterator[Place]:
    """In a folder of which other users can enter all above: pytest's own is closed to them."""
    with tempfile.TemporaryDirectory(prefix="jitc-test-") as folder:
        one = Place(Path(folder))
        yield one
        one.close()
        assert not os.listdir(folder)


def status(pid: int, name: str) -> list[str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split()[1:] for line in lines if line.startswith(f"{name}:"))


def test_a_worker_is_its_users(place: Place) -> None:
    """With all numbers, its groups, and no privilege; what it prints is printed under its user's number."""
    pid = place.worker(place.keeper.of(ANN), "echo 'a line \x1b[31m'; echo another >&2")
    assert status(pid, "Uid") == ["1001"] * 4
    assert status(pid, "Gid") == ["1001"] * 4
    assert status(pid, "Groups") == ["5", "7000"]
    for one in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
        assert int(status(pid, one)[0], 16) == 0
    assert status(pid, "NoNewPrivs") == ["1"]
    until(lambda: "another" in place.log.read_text(), 20, "its output is there")
    lines = place.log.read_text().splitlines()
    assert "jitc-keeper: worker of user 1001: a line \\x1b[31m" in lines
    assert not [one for one in os.listdir(f"/proc/{pid}/fd") if os.readlink(f"/proc/{pid}/fd/{one}") == str(place.log)]


def test_much_output_is_cut_short(place: Place) -> None:
    place.worker(place.keeper.of(ANN), "yes | head -n 100000; head -c 100000 /dev/zero; echo")
    until(lambda: "worker of user 1001: y" in place.log.read_text(), 20, "some of it is there")
    place.worker(place.keeper.of(BOB), "echo mine")
    until(lambda: "worker of user 1002: mine" in place.log.read_text(), 20, "another worker's output is there")
    assert place.log.stat().st_size < 100_000


def test_the_keeper_has_what_it_needs_and_no_more(place: Place) -> None:
    wanted = sum(1 << one for one in privileges.NEEDED)
    for name in ("CapPrm", "CapEff", "CapBnd"):
        assert int(status(place.keeper.pid, name)[0], 16) & ~wanted == 0
    assert int(status(place.keeper.pid, "CapEff")[0], 16) & wanted


def test_names_are_a_users_own(place: Place) -> None:
    """One name is another piece of memory for each; a view has none of the others."""
    ann, bob = place.keeper.of(ANN), place.keeper.of(BOB)
    for keeper, content in ((place.keeper, b"root's"), (ann, b"ann's"), (bob, b"bob's")):
        place.keep(keeper, "1/journal", content)
    place.keep(place.keeper, "log/1001", b"the service's")
    for keeper, content in ((place.keeper, b"root's"), (ann, b"ann's"), (bob, b"bob's")):
        taken = keeper.take(["1/journal", "u1001/1/journal", "log/1001"])
        assert os.pread(taken["1/journal"], 100, 0) == content
        assert ("log/1001" in taken) is (keeper is place.keeper)
        assert "u1001/1/journal" not in taken
        owner = keeper.owner
        found = os.fstat(taken["1/journal"])
        assert owner is None or (found.st_uid, found.st_gid, found.st_mode & 0o777) == (owner.uid, owner.gid, 0o600)
        for one in taken.values():
            os.close(one)
    ann.drop(["1/journal"])
    assert not ann.take(["1/journal"])
    for one in bob.take(["1/journal"]).values():
        os.close(one)


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("board", ""),
        ("u7/board", "u7/"),
        ("user/board", ""),
        ("u/board", ""),
        ("u7", ""),
        ("log/7", ""),
        ("u7/u8/x", "u7/"),
    ],
)
def test_prefixes(name: str, prefix: str) -> None:
    assert prefix_in(name) == prefix


#: A training process of another user: says its ticket, then what a token gives it, which it reads on standard input.
AS = """
import os, sys
sys.path.insert(0, sys.argv[3])
from toolkit.program import Program
uid = int(sys.argv[1])
os.setgroups([]); os.setresgid(uid, uid, uid); os.setresuid(uid, uid, uid)
try:
    program = Program(sys.argv[2])
except (AssertionError, ConnectionResetError, BrokenPipeError):
    print("sent away", flush=True)
    sys.exit()
print(program.ticket, flush=True)
for line in sys.stdin:
    descriptor = program.memory(line.strip())
    print(os.pread(descriptor, 100, 0).decode() if descriptor >= 0 else "nothing", flush=True)
"""


class Process:
    def __init__(self, place: Place, owner: Owner) -> None:
        words = [sys.executable, "-c", AS, str(owner.uid), str(place.folder / "s"), str(ROOT / "tests")]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ticket = self.said()

    def said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def memory(self, token: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(token + "\n")
        self.process.stdin.flush()
        return self.said()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def test_a_program_gets_what_is_its_users(place: Place) -> None:
    """Neither another one's token nor ticket is of use to anybody else."""
    ann, bob = place.keeper.of(ANN), place.keeper.of(BOB)
    place.keep(ann, "1/pinned", b"ann's", TOKEN)
    with Process(place, ANN) as one, Process(place, BOB) as other, Process(place, EVE) as stranger:
        assert stranger.ticket == "sent away"
        assert other.memory(TOKEN) == "nothing"
        assert bob.watch(one.ticket) is None
        assert place.keeper.watch(one.ticket) is None
        assert ann.watch(one.ticket) == one.process.pid
        assert one.memory(TOKEN) == "ann's"


def test_a_crowd_of_one_user_keeps_no_other_away(place: Place) -> None:
    crowd = """
import os, sys
sys.path.insert(0, sys.argv[3])
from toolkit.program import Program
uid = int(sys.argv[1])
os.setgroups([]); os.setresgid(uid, uid, uid); os.setresuid(uid, uid, uid)
all = [Program(sys.argv[2]) for _ in range(int(sys.argv[4]))]
print(sum(one.stands() for one in all), flush=True)
sys.stdin.read()
"""
    words = [sys.executable, "-c", crowd, str(ANN.uid), str(place.folder / "s"), str(ROOT / "tests")]
    with (
        Process(place, BOB) as first,
        subprocess.Popen([*words, "300"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as many,
    ):
        assert many.stdout is not None
        assert int(many.stdout.readline()) == programs.FOR_ONE
        assert place.keeper.of(BOB).watch(first.ticket) == first.process.pid
        with Process(place, BOB) as second:
            assert second.ticket != "sent away"
        many.communicate()


def test_without_an_admission_nobody_else_is_let_in(place: Place) -> None:
    place.keeper.admit(None)
    with Process(place, ANN) as one:
        assert one.ticket == "sent away"
    own = Program(place.folder / "s")
    assert place.keeper.watch(own.ticket) == os.getpid()
    own.close()


def test_a_user_that_cannot_be(place: Place) -> None:
    """A group that the kernel does not take: the worker ends with a reason, and the keeper goes on."""
    read, write = os.pipe()
    pid = place.keeper.of(Owner(1001, 1001, (2**32 - 1,))).spawn(["/bin/true"], {}, write)
    os.close(write)
    assert os.read(read, 10) == b""
    os.close(read)
    until(lambda: place.keeper.reap(pid) is not None, 20, "it has ended")
    until(lambda: "worker of user 1001: " in place.log.read_text(), 20, "its reason is there")
    place.worker(place.keeper.of(ANN), "true")


def test_the_keeper_waits_for_nothing_of_a_users(place: Place) -> None:
    """A user may stop a process as soon as it is the user's: what was started is root's until then."""
    [process] = [one for one in become(ANN) if "setresuid" in one]
    assert become(None) == [] and process.index("setgroups") < process.index("setresgid") < process.index("setresuid")
    descriptors = len(os.listdir(f"/proc/{place.keeper.pid}/fd"))
    pid = place.worker(place.keeper.of(ANN), "true")
    os.kill(pid, signal.SIGKILL)
    until(lambda: place.keeper.reap(pid) is not None, 20, "it has ended")
    assert len(os.listdir(f"/proc/{place.keeper.pid}/fd")) == descriptors, "its output is closed, too"


def test_one_user_leaves_places_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also several of them together leave some to the service's own user."""
    for name, value in (("KEPT", 10), ("FOR_ONE", 3), ("LEFT", 4)):
        monkeypatch.setattr(shelf, name, value)
    one = shelf.Shelf()

    def keeps(name: str) -> bool:
        return "descriptor" in one.keep(name, os.open(os.devnull, os.O_RDONLY), "")

    assert [keeps(f"u1/{number}") for number in range(4)] == [True] * 3 + [False]
    assert [keeps(f"u2/{number}") for number in range(4)] == [True] * 3 + [False]
    assert not keeps("u3/0"), "two users have all that is theirs"
    assert [keeps(str(number)) for number in range(5)] == [True] * 4 + [False]
    assert keeps("u1/0"), "in place of what is there"
    one.drop(one.names())
