"""SIGHUP and SIGUSR1 under a running job: options that may change do, others stay, stacks are written, and nothing
happens to the job. systemd's signs of life come as long as the service works."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from client_rig import check, train
from proxyd_rig import PLAIN, Proxyd, close, worker_of
from standin_client import PROXYD
from toolkit.waiting import until

from jitc.proxy.service import Service

pytestmark = pytest.mark.timeout(240)


class Reloaded:
    """A service with a file of options, and what it says."""

    def __init__(self, proxyd: Proxyd, folder: Path) -> None:
        self.proxyd, self.file = proxyd, folder / "jitc.toml"
        self.file.write_text("hang-seconds = 200\nvalidate-every = 7\n")
        # Where the tests ignore SIGHUP (nohup), the service would too.
        self.process = proxyd.start(["env", "--default-signal=HUP", *PLAIN], "--config", str(self.file))
        proxyd.ready(self.process)

    def reload(self, text: str, says: str) -> None:
        self.file.write_text(text)
        before = self.proxyd.log.read_text().count(says)
        self.process.send_signal(signal.SIGHUP)
        until(lambda: self.proxyd.log.read_text().count(says) > before, 60, f"{says}: {self.proxyd.log.read_text()}")

    def reloads(self, text: str) -> None:
        self.reload(text, "reloads its options")
        self.proxyd.ready(self.process)

    def stays(self, text: str, why: str) -> None:
        self.reload(text, f"options stay as they are: {why}")


@pytest.fixture
def reloaded(proxyd: Proxyd, tmp_path_factory: pytest.TempPathFactory) -> Reloaded:
    return Reloaded(proxyd, tmp_path_factory.mktemp("options"))


def test_under_a_job(reloaded: Reloaded) -> None:
    pid, ranks = reloaded.process.pid, reloaded.proxyd.begun()
    train(ranks, 2)
    reloaded.reloads("hang-seconds = 100\nvalidate-every = 0\n")
    train(ranks, 1)
    check(ranks, 3)
    os.kill(worker_of(ranks[0]), signal.SIGKILL)
    train(ranks, 1)
    reloaded.stays("hang-seconds = 100\nnoise = 3\n", "jobs are running that began with --noise 0, not 3")
    reloaded.reloads("hang-seconds = 50\n")
    train(ranks, 1)
    check(ranks, 5)
    assert reloaded.process.pid == pid and reloaded.process.poll() is None
    close(ranks)


def test_what_is_wrong_changes_nothing(reloaded: Reloaded) -> None:
    text = reloaded.file.read_text()
    reloaded.stays(text, "no option has changed")
    reloaded.stays(f"# a comment\n{text}", "no option has changed")
    reloaded.stays("hang-second = 3", f"{reloaded.file}: there is no option 'hang-second'; did you mean hang-seconds?")
    reloaded.stays("hang-seconds = ", f"{reloaded.file} is not TOML")
    reloaded.stays("spare-gpus = 2", "--spare-gpus is less than --gpus")
    ranks = reloaded.proxyd.begun()
    train(ranks, 1)
    check(ranks, 1)
    close(ranks)


def test_without_a_job_any_option_may_change(reloaded: Reloaded) -> None:
    reloaded.reloads("noise = 3")
    ranks = reloaded.proxyd.begun()
    train(ranks, 1)
    reloaded.stays("noise = 4", "jobs are running that began with --noise 3, not 4")
    close(ranks)


def test_amid_recoveries(reloaded: Reloaded) -> None:
    """Each reload comes while a worker has just been lost."""
    ranks = reloaded.proxyd.begun()
    for turn in range(3):
        train(ranks, 1)
        check(ranks, turn + 1)  # an answer: the rank knows its present worker
        os.kill(worker_of(ranks[turn % 2]), signal.SIGKILL)
        reloaded.reloads(f"hang-seconds = {100 + turn}")
    train(ranks, 1)
    check(ranks, 4)
    close(ranks)


def test_service_and_workers_write_their_stacks(reloaded: Reloaded) -> None:
    ranks = reloaded.proxyd.begun()
    train(ranks, 1)
    places = {reloaded.process.pid: "lifecycle/serve.py", worker_of(ranks[0]): "worker/__main__.py"}
    for pid, place in places.items():
        os.kill(pid, signal.SIGUSR1)
        until(lambda place=place: place in reloaded.proxyd.log.read_text(), 60, f"the stack of {place}")
    train(ranks, 1)
    check(ranks, 2)
    assert worker_of(ranks[0]) in places and reloaded.process.poll() is None
    close(ranks)


# -- signs of life ----------------------------------------------------------------------------------------


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[tuple[socket.socket, subprocess.Popen[str]]]:
    """What systemd hears of a service that it wants a sign of life from every 0.6 s."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ears:
        ears.bind(str(tmp_path / "n"))
        ears.settimeout(60)
        environment = os.environ | {"NOTIFY_SOCKET": str(tmp_path / "n"), "WATCHDOG_USEC": "600000"}
        command = [*PROXYD, "--gpus", "1", "--socket", str(tmp_path / "s")]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        yield ears, process
        process.send_signal(signal.SIGCONT)
        process.terminate()
        assert process.wait(60) == 0 and process.stdout is not None
        process.stdout.close()


def test_a_service_that_works_shows_it(heard: tuple[socket.socket, subprocess.Popen[str]]) -> None:
    ears, process = heard
    before = list(iter(lambda: ears.recv(100), b"READY=1"))
    assert set(before) == {b"WATCHDOG=1"}, "it begins"
    assert [ears.recv(100) for _ in range(3)] == [b"WATCHDOG=1"] * 3
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    ears.settimeout(1.5)
    with pytest.raises(TimeoutError):  # what it had sent before is heard, and then nothing
        while True:
            ears.recv(100)


def test_one_whose_lock_or_socket_hangs_shows_no_life(service: Service) -> None:
    assert service.answers(20)
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with service.registry.changed:
            held.set()
            release.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(60) and not service.answers(0.2)
    release.set()
    holder.join()
    assert service.answers(20)


def test_only_the_process_that_is_meant_sends_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from jitc.proxy.commands.lifecycle.systemd import watchdog_seconds

    def seconds(**environment: str) -> float:
        for name in ("WATCHDOG_USEC", "WATCHDOG_PID"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return watchdog_seconds()

    assert seconds() == 0
    assert seconds(WATCHDOG_USEC="30000000") == 30
    assert seconds(WATCHDOG_USEC="30000000", WATCHDOG_PID=str(os.getpid())) == 30
    assert seconds(WATCHDOG_USEC="30000000", WATCHDOG_PID="1") == 0
    assert seconds(WATCHDOG_USEC="soon") == 0
