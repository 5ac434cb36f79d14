"""`jitc-proxyd --respawn`: the service is there again after it was killed, and goes when it is told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from toolkit.waiting import until

PROXYD = [sys.executable, "-m", "jitc.proxy.commands.proxyd", "--respawn", "--device", "software", "--gpus", "1"]


class Respawned:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*PROXYD, "--socket", str(folder / "s")], stdout=subprocess.PIPE, stderr=log, text=True
            )

    def ready(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith("jitc-proxyd ready"), self.log.read_text()

    def service(self) -> int | None:
        """The process of the service that there is now."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(listed[0]) if listed else None


@pytest.fixture
def respawned(tmp_path: Path) -> Iterator[Respawned]:
    one = Respawned(tmp_path)
    yield one
    if one.process.poll() is None:
        one.process.terminate()
        assert one.process.wait(60) == 0
    assert one.process.stdout is not None
    one.process.stdout.close()
    until(lambda: [entry.name for entry in tmp_path.iterdir()] == ["log"], 30, "nothing is left")


def kill(service: int) -> None:
    os.kill(service, signal.SIGKILL)


def test_it_is_there_again(respawned: Respawned) -> None:
    respawned.ready()
    first = until(respawned.service, 10, "a service")
    kill(first)
    respawned.ready()
    assert respawned.service() not in (None, first)
    assert "ended by SIGKILL; another one takes over" in respawned.log.read_text()


def test_one_that_is_killed_again_and_again_is_left_alone(respawned: Respawned) -> None:
    seen = set[int]()
    while respawned.process.poll() is None:
        service = respawned.service()
        if service is not None and service not in seen:
            seen.add(service)
            kill(service)
    assert respawned.process.returncode == 128 + signal.SIGKILL
    assert len(seen) == 5
    assert "not started any more" in respawned.log.read_text()


def test_its_exit_status_is_the_service_s(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    done = subprocess.run(
        [*PROXYD, "--socket", str(tmp_path / "s")], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert "is no socket" in done.stderr


def test_the_end_of_its_terminal_ends_it(respawned: Respawned) -> None:
    """A service of its own reads its options again at SIGHUP; this one's are its parent's, which ends it."""
    respawned.ready()
    service = until(respawned.service, 10, "a service")
    os.kill(service, signal.SIGHUP)
    kill(service)
    respawned.ready()
    assert "options" not in respawned.log.read_text()
    respawned.process.send_signal(signal.SIGHUP)
    assert respawned.process.wait(60) == 0
