"""A service whose listening socket is another process's, as systemd's: programs may begin before it, and it stays."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from proxyd_rig import OPTIONS
from toolkit.job import PRELOAD, base_environment, run_command
from toolkit.program import Program
from toolkit.service import BIN
from toolkit.waiting import patient, until

from jitc.proxy.common import rpc
from jitc.proxy.common.paths import PROTOCOL_VERSION
from jitc.v1 import control_pb2

#: Starts a command as systemd does: with this descriptor as its first one.
STARTS = """
import os, sys
given = int(sys.argv[1])
os.dup2(given, 3)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "jitc-proxyd.socket"}
os.execv(sys.argv[2], sys.argv[2:])
"""

#: Counts its GPUs, on the preloaded library.
COUNTS = """
import ctypes
count = ctypes.c_int()
print(ctypes.CDLL(None).cudaGetDeviceCount(ctypes.byref(count)), count.value)
"""


class Place:
    """The socket, and services that are given it."""

    def __init__(self, folder: Path) -> None:
        self.path, self.log = folder / "s", folder / "log"
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(self.path))
        self.path.chmod(0o600)
        self.listener.listen(16)
        self.services: list[subprocess.Popen[str]] = []

    def made(self) -> tuple[int, ...]:
        """What the socket is and whose; not when somebody last connected to it, which is its time of access."""
        found = self.path.stat()
        return (found.st_ino, found.st_mode, found.st_uid, found.st_gid, found.st_mtime_ns, found.st_ctime_ns)

    def start(self, *options: str, path: str = "") -> subprocess.Popen[str]:
        given = self.listener.fileno()
        command = [str(BIN / "jitc-proxyd"), "--socket", path or str(self.path), *OPTIONS, *options]
        with self.log.open("a") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", STARTS, str(given), *command], pass_fds=[given], stdout=subprocess.PIPE,
                stderr=log, text=True,
            )  # fmt: skip
        self.services.append(process)
        return process

    def ready(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("jitc-proxyd ready"), self.log.read_text()

    def end(self, process: subprocess.Popen[str]) -> None:
        process.send_signal(signal.SIGTERM)
        assert process.wait(patient(60)) == 0, self.log.read_text()

    def describe(self) -> int:
        """Returns how many GPUs there are; waits for a service."""
        with rpc.channel(str(self.path)) as link:
            request = control_pb2.DescribeRequest(protocol_version=PROTOCOL_VERSION)
            return len(rpc.node(link).Describe(request, timeout=patient(60)).gpus)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    one = Place(tmp_path)
    yield one
    for process in one.services:
        process.kill()
        process.communicate()
    one.listener.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "s"]


def test_a_program_that_begins_before_the_service_waits(place: Place) -> None:
    """And the socket stays when the service ends, for the next one."""
    made = place.made()
    with ThreadPoolExecutor(2) as threads:
        for _ in range(2):
            asked = threads.submit(place.describe)
            assert wait([asked], 0.5).not_done
            service = place.start()
            assert asked.result(patient(60)) == 2
            place.ready(service)
            assert place.made() == made
            place.end(service)
    assert place.made() == made
    assert not Path(f"{place.path}.d").exists()


@pytest.mark.parametrize(
    ("words", "variables", "said"),
    [
        ([str(BIN / "jitc"), "status"], {}, "GPU 1"),
        ([sys.executable, "-c", COUNTS], {"LD_PRELOAD": str(PRELOAD)}, "0 2\n"),
    ],
    ids=["command", "program"],
)
def test_a_service_that_begins_late_is_waited_for(
    words: list[str], variables: dict[str, str], said: str, place: Place
) -> None:
    """Longer than one that has begun may take to answer: it may have to wait for a driver. One line says so."""
    environment = base_environment({"JITC_SOCKET": str(place.path)}) | variables
    with subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as waiting:  # fmt: skip
        try:
            assert waiting.stderr is not None
            line = waiting.stderr.readline()
            place.ready(place.start())
            out, errors = waiting.communicate(timeout=patient(60))
        finally:
            waiting.kill()
    assert f"the service at {place.path} does not answer" in line and "for up to 120 s (JITC_SERVICE_TIMEOUT)" in line
    assert (waiting.returncode, errors) == (0, "") and said in out
    place.end(place.services[-1])


def test_the_next_service_takes_over(place: Place) -> None:
    """After a kill; also one that hears of no change of its options."""
    first = place.start()
    place.ready(first)
    program = Program(place.path)
    with rpc.channel(str(place.path)) as link:
        request = control_pb2.AttachRequest(
            protocol_version=PROTOCOL_VERSION, program=program.ticket, pid=os.getpid(), rank=-1, wait_ms=20000
        )
        assert rpc.node(link).Attach(request, timeout=patient(60)).session == 1
    first.kill()
    first.wait()
    second = place.start()
    place.ready(second)
    assert "takes over 1 sessions" in place.log.read_text()
    second.send_signal(signal.SIGHUP)
    until(lambda: "no option has changed" in place.log.read_text(), 30, "it has heard")
    assert place.describe() == 2
    program.close()
    place.end(second)


def test_a_reload_keeps_the_socket(place: Place, tmp_path: Path) -> None:
    """Another program takes the process's place, and has it."""
    settings = tmp_path / "settings.toml"
    settings.write_text("hang-seconds = 100\n")
    service = place.start("--config", str(settings))
    place.ready(service)
    settings.write_text("hang-seconds = 101\n")
    service.send_signal(signal.SIGHUP)
    place.ready(service)
    assert place.describe() == 2
    settings.unlink()
    place.end(service)


def test_commands_work(place: Place) -> None:
    place.ready(place.start())
    done = run_command([str(BIN / "jitc"), "status", "--socket", str(place.path)])
    assert done.returncode == 0 and "GPU 1" in done.stdout, done.stderr
    place.end(place.services[-1])


@pytest.mark.parametrize("options", [(), ("--respawn",)])
def test_a_socket_that_is_another(options: tuple[str, ...], place: Place, tmp_path: Path) -> None:
    """The reason is one line, and nothing is changed."""
    service = place.start(*options, path=str(tmp_path / "other"))
    assert service.wait(patient(60)) == 2
    said = place.log.read_text()
    assert len(said.splitlines()) == 1
    wanted = "--respawn does not go with systemd's socket" if options else f"systemd has given the service {place.path}"
    assert wanted in said


def test_neither_keeper_nor_workers_have_it(place: Place) -> None:
    service = place.start()
    place.ready(service)
    inode = os.fstat(place.listener.fileno()).st_ino
    keeper = int(Path(f"/proc/{service.pid}/task/{service.pid}/children").read_text().split()[0])
    workers = Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
    assert workers
    for pid in (str(keeper), *workers):
        links = [os.readlink(f"/proc/{pid}/fd/{one}") for one in os.listdir(f"/proc/{pid}/fd")]
        assert f"socket:[{inode}]" not in links
        assert b"LISTEN_" not in Path(f"/proc/{pid}/environ").read_bytes()
    place.end(service)
