"""The checks of `jitc doctor` about the service: none, one that answers, one that is stopped, and unsafe folders."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from doctor_rig import NOBODY, as_root, elsewhere, look
from standin_client import config, started

from jitc.proxy.commands.doctor import service as checks
from jitc.proxy.commands.doctor.check import BAD, GOOD, UNKNOWN, Context, Finding
from jitc.proxy.commands.questions import ask
from jitc.proxy.common import paths, rpc
from jitc.proxy.keeper.claim.socket_lock import PATH_LIMIT
from jitc.proxy.service import Service


def of(name: str, path: Path) -> Finding:
    return look("service", name, Context("software", socket=str(path)))


def test_paths_of_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of("socket", Path("/run/jitc/s")).verdict == GOOD
    found = of("socket", Path("/") / ("x" * PATH_LIMIT))
    assert found.verdict == BAD and f"{PATH_LIMIT + 1} bytes" in found.says
    monkeypatch.setenv("JITC_SOCKET", "/tmp/two\nlines")
    found = look("service", "socket", Context("software"))
    assert found.verdict == BAD and "/tmp/two\\nlines" in found.says


def test_folders(tmp_path: Path) -> None:
    assert of("folder", tmp_path / "s").verdict == GOOD
    assert of("folder", tmp_path / "made" / "later" / "s").verdict == GOOD
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    assert of("folder", tmp_path / "file" / "s").verdict == BAD
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    found = of("folder", tmp_path / "open" / "s")
    assert found.verdict == BAD and "others can write to" in found.says
    found = elsewhere("service", "folder", socket="/proc/jitc/s", user=NOBODY if os.geteuid() == 0 else None)
    assert found.verdict == BAD and "cannot be made in /proc" in found.says


def test_the_folder_beside_the_socket(tmp_path: Path) -> None:
    private = tmp_path / "s.d"
    private.symlink_to(tmp_path)
    found = of("folder", tmp_path / "s")
    assert found.verdict == BAD and "is a symbolic link" in found.says
    private.unlink()
    private.mkdir(mode=0o755)
    found = of("folder", tmp_path / "s")
    assert found.verdict == BAD and "is open to other users (mode 0755)" in found.says
    private.chmod(0o700)
    assert of("folder", tmp_path / "s").verdict == GOOD


@as_root
def test_folders_of_another_user(tmp_path: Path) -> None:
    (tmp_path / "s.d").mkdir(mode=0o700)
    os.chown(tmp_path / "s.d", NOBODY, NOBODY)
    assert "belongs to another user" in of("folder", tmp_path / "s").says
    (tmp_path / "its").mkdir()
    os.chown(tmp_path / "its", NOBODY, NOBODY)
    found = of("folder", tmp_path / "its" / "s")
    assert found.verdict == BAD and "others can write to" in found.says


@as_root
def test_the_system_has_a_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user's programs use it, and a service of that user would not claim its socket."""
    monkeypatch.setattr(paths, "SYSTEM_SOCKET", str(tmp_path / "s"))
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    assert "the service there" not in of("folder", tmp_path / "s").says, "nothing is there"
    (tmp_path / "s.d").mkdir(mode=0o700)
    found = of("folder", tmp_path / "s")
    assert found.verdict == GOOD and "the service there is root's" in found.says
    (tmp_path / "t.d").mkdir(mode=0o700)
    assert of("folder", tmp_path / "t").verdict == BAD, "this is not the system's"


def test_no_service_is_no_fault(tmp_path: Path) -> None:
    found = of("service", tmp_path / "s")
    assert found.verdict == UNKNOWN and f"there is no {tmp_path}/s" in found.says and "jitc-proxyd" in found.remedy
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "s"))
    found = of("service", tmp_path / "s")
    assert found.verdict == UNKNOWN and "was left by a service that has ended" in found.says
    assert checks.round_trip(Context("software", socket=str(tmp_path / "s"))) is None


def test_a_service_that_answers(service: Service) -> None:
    path = Path(service.config.socket)
    found = of("service", path)
    assert found.verdict == GOOD and f"protocol version {paths.PROTOCOL_VERSION}" in found.says
    found = of("round trip", path)
    assert found.verdict in (GOOD, UNKNOWN) and "median of 20 calls" in found.says, "unknown on an overloaded machine"
    assert of("folder", path).verdict == GOOD


def test_calls_that_take_long() -> None:
    assert checks.of_calls([0.3, 0.4, 900.0]).verdict == GOOD, "one may"
    found = checks.of_calls([0.3, 40.0, 41.0])
    assert found.verdict == UNKNOWN and found.says.startswith("40.00 ms, median of 3 calls") and "top" in found.remedy


def test_a_service_that_ends_between_two_checks(tmp_path: Path) -> None:
    context = Context("software", socket=str(tmp_path / "s"))
    with started(Service(config(tmp_path))):
        assert context.once(checks.service).verdict == GOOD
    found = checks.round_trip(context)
    assert found is not None and found.verdict == BAD and found.says.startswith("a call failed: "), found


def test_a_service_of_another_version(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "PROTOCOL_VERSION", 99)
    found = of("service", Path(service.config.socket))
    assert found.verdict == BAD and "protocol version 99 does not match" in found.says


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Path]:
    """A process that listens, and is stopped before it accepts anything."""
    code = (
        "import os, signal, socket, sys\none = socket.socket(socket.AF_UNIX)\none.bind(sys.argv[1])\none.listen()\n"
        "os.kill(os.getpid(), signal.SIGSTOP)\n"
    )
    process = subprocess.Popen([sys.executable, "-S", "-c", code, str(tmp_path / "s")])
    try:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        yield tmp_path / "s"
    finally:
        process.kill()
        process.wait()


def test_a_service_that_is_stopped(listener: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "HELLO_SECONDS", 0.5)
    began = time.monotonic()
    found = of("service", listener)
    assert found.verdict == BAD and "does not answer" in found.says and "kill -CONT" in found.remedy
    assert time.monotonic() - began < 30


def test_a_stranger_on_the_socket(tmp_path: Path) -> None:
    server = rpc.serve(lambda _: None, str(tmp_path / "s"))
    try:
        found = of("service", tmp_path / "s")
    finally:
        server.stop(None).wait()
    assert found.verdict == BAD and "the socket of something else" in found.says
    (tmp_path / "file").touch()
    found = of("service", tmp_path / "file")
    assert found.verdict in (BAD, UNKNOWN), found
