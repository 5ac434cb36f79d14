"""`jitc status --watch` on a real pseudo-terminal and through a pipe, while its service comes and goes."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from standin_client import PROXYD, Client
from terminals import ALTERNATE, CURSOR, HOME, JITC, NO_CURSOR, NORMAL, Commands, clean
from toolkit.waiting import patient, until

from jitc.proxy.commands.questions.nodes import Whom
from jitc.proxy.commands.terminal.asking import Asking
from jitc.proxy.commands.terminal.signals import Ended, Signals
from jitc.proxy.service import Service
from jitc.proxy.status.documents import mistakes
from jitc.proxy.status.node import Status

QUICK = ("--watch", "0.1")


@pytest.fixture
def status(service: Service) -> tuple[str, ...]:
    return ("status", "--socket", service.config.socket)


def test_a_terminal_is_redrawn_and_left_as_it_was(
    service: Service, status: tuple[str, ...], commands: Commands
) -> None:
    """Ctrl-C: the cursor is there again, and the last picture stays on the normal screen."""
    client = Client(service, rank=0, world_size=1, job="run-7")
    shown = commands.on_terminal(*status, *QUICK)
    shown.shows("job run-7")
    assert shown.output.startswith(ALTERNATE) and NO_CURSOR in shown.output and NORMAL not in shown.output
    assert "\x1b[32mready" in shown.output
    client.close()
    until(lambda: "job run-7" not in shown.picture, 30, "a picture without the session")
    shown.says(HOME, 3)
    shown.type(b"\x03")
    assert shown.ended() == 130
    before, after = shown.output.split(NORMAL)
    assert before.rfind(CURSOR) > before.rfind(NO_CURSOR)
    assert clean(after).startswith("GPU  device") and "Traceback" not in shown.output
    assert clean(after).splitlines()[-1].startswith("copies of device memory")


def test_a_new_size_is_used_at_once(status: tuple[str, ...], commands: Commands) -> None:
    shown = commands.on_terminal(*status, "--watch", "3600", NO_COLOR="1")
    shown.shows("recoveries")
    shown.resize(40)
    shown.says(HOME, 2)
    shown.shows("   memory")
    assert shown.ended(signal.SIGTERM) == 143
    assert "\x1b[3" not in shown.output and shown.output.rfind(CURSOR) > shown.output.rfind(NO_CURSOR)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash, a shell with jobs")
def test_ctrl_z_gives_the_terminal_back_until_fg(status: tuple[str, ...], commands: Commands) -> None:
    """The shell has its own screen, and a cursor, while the command is stopped; then there is a picture again."""
    shell = commands.shell()
    shell.says("$ ")
    shell.type(shlex.join([*JITC, *status, "--watch", "3600"]).encode() + b"\n")
    shell.says(ALTERNATE)
    shell.shows("copies of device memory")
    shell.type(b"\x1a")
    shell.says("Stopped")
    before = shell.output.partition("Stopped")[0]
    assert before.count(NORMAL) == 1 and before.rfind(NORMAL) > before.rfind(ALTERNATE)
    assert before.rfind(CURSOR) > before.rfind(NO_CURSOR)
    shell.type(b"fg\n")
    shell.says(ALTERNATE, 2)
    until(lambda: "copies of device memory" in shell.output.rpartition(ALTERNATE)[2], 30, "a picture")
    assert shell.output.rfind(NO_CURSOR) > shell.output.rfind(CURSOR)
    shell.type(b"\x03")
    shell.says(NORMAL, 2)
    shell.type(b"echo ended with $?\nexit\n")
    assert shell.ended() == 0
    assert "ended with 130" in shell.output and "Traceback" not in shell.output
    assert shell.output.rfind(CURSOR) > shell.output.rfind(NO_CURSOR)


def test_a_dumb_terminal_gets_one_table_after_the_other(status: tuple[str, ...], commands: Commands) -> None:
    shown = commands.on_terminal(*status, *QUICK, TERM="dumb")
    shown.says("\r\n\r\nGPU  device", 2)
    shown.type(b"\x03")
    assert shown.ended() == 130
    assert "\x1b" not in shown.output


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_pipe_gets_the_plain_text_each_time(
    number: int, code: int, status: tuple[str, ...], commands: Commands
) -> None:
    plain, lines = commands.piped(*status, *QUICK), commands.piped(*status, *QUICK, "--json")
    plain.says("\n\nGPU 0  software  ready", 2)
    lines.says("\n", 3)
    assert (plain.ended(number), plain.errors) == (code, "")
    assert (lines.ended(number), lines.errors) == (code, "")
    assert "\x1b" not in plain.output and "GPU  device" not in plain.output
    documents = [json.loads(one) for one in lines.output.splitlines()]
    assert not [why for one in documents for why in mistakes(one, Status)]
    once = commands.piped(*status)
    assert once.ended() == 0
    assert set(plain.output.split("\n\n")) == {once.output, once.output.rstrip("\n")}


@pytest.mark.parametrize("words", [[], ["--json"], ["--color", "always"]])
def test_a_closed_pipe_ends_it_in_silence(words: list[str], status: tuple[str, ...]) -> None:
    """Also one that is closed while it waits for the next time."""
    with subprocess.Popen(
        [*JITC, *status, "--watch", "3600", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as one:
        assert one.stdout is not None and one.stderr is not None
        assert one.stdout.read(5)
        one.stdout.close()
        assert one.wait(patient(30)) == 1
        assert one.stderr.read() == b""


#: Writes more than a pipe can hold, and says on standard error that it begins.
_WRITES = """
import sys
from jitc.proxy.commands.terminal.signals import Ended, Signals
def write():
    print("begins", file=sys.stderr, flush=True)
    print("x" * (1 << 21))
try:
    with Signals() as signals:
        signals.write(write)
except Ended as end:
    sys.exit(end.code)
"""


def test_a_reader_that_does_not_read_holds_no_signal_up() -> None:
    with subprocess.Popen([sys.executable, "-c", _WRITES], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as one:
        assert one.stderr is not None
        assert one.stderr.readline() == b"begins\n"
        one.terminate()
        assert one.wait(patient(30)) == 143
        assert one.stderr.read() == b""


class Restarted:
    """A service with stand-in workers that is killed and started again; a session keeps its keeper alive."""

    def __init__(self, folder: Path) -> None:
        self.socket = str(folder / "s")
        self.config = self
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [*PROXYD, "--gpus", "1", "--socket", self.socket], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith("jitc-proxyd ready")

    def kill(self) -> None:
        self.process.kill()
        self.close()

    def close(self) -> None:
        self.process.wait(patient(30))
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def restarted(tmp_path: Path) -> Iterator[Restarted]:
    one = Restarted(tmp_path)
    try:
        yield one
    finally:
        one.process.terminate()
        one.close()


def test_a_service_that_is_killed_and_started_again(restarted: Restarted, commands: Commands) -> None:
    client = Client(restarted, rank=0, world_size=1, job="run-7")  # type: ignore[arg-type]
    words = ("status", "--socket", restarted.socket, *QUICK)
    shown, piped = commands.on_terminal(*words), commands.piped(*words)
    shown.shows("job run-7")
    piped.says("job run-7")
    restarted.kill()
    shown.shows("the service has not answered for")
    shown.shows("job run-7")
    until(lambda: bool(piped.errors), 30, "a line on standard error")
    said = piped.output.count("job run-7")
    restarted.start()
    piped.says("job run-7", said + 2)
    until(lambda: "not answered" not in shown.picture and "job run-7" in shown.picture, 30, "the service is there")
    assert (shown.ended(signal.SIGTERM), piped.ended(signal.SIGTERM)) == (143, 143)
    assert piped.errors.count("\n") == 1 and "does not answer; jobs go on" in piped.errors
    client.close()


@pytest.mark.parametrize("words", [["status", "--watch"], ["report", "--follow"]])
def test_no_service_at_all_is_the_usual_error(words: list[str], tmp_path: Path, commands: Commands) -> None:
    missing = ("--socket", str(tmp_path / "none"))
    piped, shown = commands.piped(*words, *missing), commands.on_terminal(*words, *missing)
    assert (piped.ended(), piped.output, len(piped.errors.splitlines())) == (3, "", 1)
    assert shown.ended() == 3 and "no service on" in shown.output and "\x1b" not in shown.output


def test_a_signal_ends_a_wait_and_a_question(tmp_path: Path) -> None:
    """And one that comes in between ends the next one; afterwards signals do what they did."""
    before = signal.getsignal(signal.SIGTERM)
    with Signals() as signals:
        os.kill(os.getpid(), signal.SIGTERM)
        for act in (lambda: signals.wait(100), lambda: Asking(Whom(str(tmp_path)), signals).ask("Status", None)):
            with pytest.raises(Ended) as caught:
                act()
            assert caught.value.code == 143
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_that_was_ignored_stays_ignored() -> None:
    code = (
        "import os, signal; from jitc.proxy.commands.terminal.signals import Signals\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "with Signals() as one: os.kill(os.getpid(), signal.SIGINT); one.wait(0.01)\n"
        "print('on')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "on\n", "")
