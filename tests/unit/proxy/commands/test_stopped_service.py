"""A service that is stopped (SIGSTOP) before a command asks it, or while one waits for it: each command ends, and says
so in one line; one that shows the service again and again says so, and goes on."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from standin_client import Client, config, started
from toolkit.client import attach, detach
from toolkit.job import run_command
from toolkit.service import BIN
from toolkit.waiting import patient, stop_process, until

from jitc.proxy.commands import jitc
from jitc.proxy.commands.questions import ask
from jitc.proxy.node.api.node import NodeService
from jitc.proxy.service import Service

JITC = str(BIN / "jitc")
ANNOUNCING = [sys.executable, str(Path(__file__).parents[1] / "announcing_proxyd.py")]
OPTIONS = ("--device", "software", "--gpus", "1", "--threads", "1", "--spares", "0", "--copies-limit", "1GiB")


class Daemon:
    """A service with a session, and what it prints."""

    def __init__(self, folder: Path) -> None:
        self.socket, self._log = folder / "s", folder / "log"
        with self._log.open("w") as log:
            command = [*ANNOUNCING, "--socket", str(self.socket), *OPTIONS]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def said(self, text: str) -> int:
        """How many times."""
        return self._log.read_text().count(text)

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        stop_process(self.process.pid)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def at_once(self, *words: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """A command that asks the stopped service."""
        with self.stopped():
            return run_command([JITC, *words, "--socket", str(self.socket)], timeout=timeout)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    one = Daemon(tmp_path_factory.mktemp("service"))
    try:
        until(lambda: bool(one.said("jitc-proxyd ready")) or one.process.poll() is not None, 90, "it is ready")
        session = attach(one.socket)
        yield one
        detach(one.socket, session.token)
        one.process.terminate()
        assert one.process.wait(patient(60)) == 0
    finally:
        one.process.kill()
        one.process.wait()


@contextlib.contextmanager
def running(daemon: Daemon, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A command that runs meanwhile."""
    command = [JITC, *words, "--socket", str(daemon.socket)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as one:
        try:
            yield one
        finally:
            one.kill()


def silence(daemon: Daemon) -> str:
    return f"{daemon.socket} accepts connections but does not answer: is it a jitc-proxyd, and running?"


WORDS = [
    ["status"], ["report"], ["inject", "xid", "--gpu", "0"], ["inject", "kill-worker", "--gpu", "0", "--wait"],
    ["validate", "--gpu", "0"], ["gpu", "return", "0"], ["status", "--watch"], ["report", "--follow"],
]  # fmt: skip


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
@pytest.mark.sampled
def test_one_that_is_stopped_before(words: list[str], daemon: Daemon) -> None:
    done = daemon.at_once(*words)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", f"jitc: {silence(daemon)}\n")


@pytest.mark.parametrize(
    "words",
    [["inject", "kill-worker", "--gpu", "0", "--at", "boundary=1000", "--wait"], ["validate", "--gpu", "0"]],
    ids=lambda words: words[0],
)
@pytest.mark.sampled
def test_one_that_stops_while_a_command_waits(words: list[str], daemon: Daemon) -> None:
    before = daemon.said("announced: waits")
    with running(daemon, *words) as one:
        until(lambda: daemon.said("announced: waits") > before, 60, "the service has the call")
        with daemon.stopped():
            out, errors = one.communicate(timeout=patient(90))
    said = f"jitc: the jitc-proxyd on {daemon.socket} has not answered in time; it is stopped or overloaded\n"
    assert (one.returncode, out, errors) == (3, "", said)


@pytest.mark.parametrize("words", [["status", "--watch", "0.1"], ["report", "--follow"]], ids=lambda words: words[0])
def test_one_that_stops_while_it_is_watched(words: list[str], daemon: Daemon) -> None:
    before = daemon.said("announced: status")
    with running(daemon, *words) as one:
        # The command has read the first answer before it asks again.
        until(lambda: daemon.said("announced: status") >= before + 2, 60, "it has been answered")
        with daemon.stopped():
            assert one.stderr is not None
            line = one.stderr.readline()
            one.terminate()
            _, errors = one.communicate(timeout=patient(60))
    assert line == "jitc: the service does not answer; jobs go on, and this command waits for it\n"
    assert (one.returncode, errors) == (143, "")


def test_the_doctor_says_so(daemon: Daemon) -> None:
    done = daemon.at_once("doctor", "--device", "software", "--json", timeout=150)
    (found,) = [one for one in json.loads(done.stdout)["checks"] if one["name"] == "service"]
    assert (done.returncode, found["verdict"], found["says"]) == (1, "bad", silence(daemon))
    assert "kill -CONT" in found["remedy"]


def test_an_archive_is_made_all_the_same(daemon: Daemon, tmp_path: Path) -> None:
    done = daemon.at_once("support-bundle", "--output", str(tmp_path / "archive.tar.gz"), timeout=200)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/archive.tar.gz\n")
    assert f"missing: {silence(daemon)}" in next(one for one in done.stderr.splitlines() if "status.json" in one)


def test_one_that_answers_other_calls_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """However long the fault takes to fire."""
    describe, asked = NodeService.Describe, list[None]()

    def counted(node: NodeService, request: Any, context: Any) -> Any:
        asked.append(None)
        return describe(node, request, context)

    monkeypatch.setattr(NodeService, "Describe", counted)
    monkeypatch.setattr(ask, "LOOK_SECONDS", 0.05)
    with started(Service(config(tmp_path))) as service, ThreadPoolExecutor(1) as threads:
        client = Client(service, rank=0, world_size=1)
        words = [
            "inject",
            "kill-worker",
            "--gpu",
            "0",
            "--at",
            "after=100",
            "--wait",
            "--socket",
            service.config.socket,
        ]
        waiting = threads.submit(jitc.main, words)
        until(lambda: len(asked) > 10, 60, "it has asked ten times")
        assert not waiting.done()
        client.send("add", value=6)
        assert client.call("get")["value"] == 6
        assert waiting.result(patient(60)) == 0
        client.close()
    assert capsys.readouterr().out.startswith("kill-worker on GPU 0 fired")
