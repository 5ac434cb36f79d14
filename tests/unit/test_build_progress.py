"""What a step of the set-up shows: how far it is, nothing of what its command says, and the end of one that fails."""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from toolkit.tree import ROOT
from toolkit.waiting import patient, readable, until

SECONDS = 60
WARNING = "WARNING: Location 'file:///more/simple/torch/' is ignored: it is neither a file nor a directory."
#: What pip says of a package that needs another one, then what it says while it installs. From 23.1 on it says what
#: needs a package; otherwise 22.0.2, 23.0.1, 23.2.1, 24.0 and 26.3 say the same.
PIP = {
    "22.0": (
        ["Looking in links: /wheels", WARNING, "Collecting torch===2.11.0",
         "  Downloading torch-2.11.0-cp310-cp310-manylinux_2_28_x86_64.whl (530.6 MB)",
         "Collecting nvidia-cublas==13.1.0.3.*",
         "  Downloading nvidia_cublas-13.1.0.3-py3-none-manylinux_2_27_x86_64.whl (423.1 MB)"],
        ["Installing collected packages: nvidia-cublas, torch"],
    ),
    "26.3": (
        ["Looking in links: /wheels", WARNING,
         "Processing /wheels/torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl",
         "Collecting nvidia-cublas==13.1.0.3.* (from torch===2.11.0)",
         "  Downloading nvidia_cublas-13.1.0.3-py3-none-manylinux_2_27_x86_64.whl (423.1 MB)"],
        ["Installing collected packages: setuptools, nvidia-cublas, torch", "  Attempting uninstall: setuptools",
         "    Found existing installation: setuptools 65.5.0", "      Successfully uninstalled setuptools-65.5.0"],
    ),
}  # fmt: skip
PIP_DONE = [
    "Successfully installed nvidia-cublas-13.1.0.3 torch-2.11.0",
    "WARNING: Running pip as the 'root' user can result in broken permissions and conflicting behaviour",
]
PIP_FAILS = [
    WARNING,
    "ERROR: Could not find a version that satisfies the requirement torch===0.0.1 (from versions: 2.11.0, 2.15.0)",
    "ERROR: No matching distribution found for torch===0.0.1",
]
APT = [
    "Reading package lists...", "dlstatus:1:0.0000:Retrieving file 1 of 2", "Need to get 66.3 kB of archives.",
    "Get:1 bookworm/main amd64 hello amd64 2.10-3 [53.1 kB]", "dlstatus:2:74.0947:Retrieving file 2 of 2",
    "pmstatus:dpkg-exec:0.0000:Running dpkg", "(Reading database ... 5%\r(Reading database ... 111704 files)\r",
    "pmstatus:hello:11.1111:Unpacking hello (amd64)", "Unpacking hello (2.10-3) ...",
    "pmstatus:sl:44.4444:Installing sl (amd64)",
]  # fmt: skip


def say(lines: list[str]) -> str:
    return "".join(f"printf '%s\\n' {shlex.quote(line)}\n" for line in lines)


def command(step: str, script: str) -> list[str]:
    return [sys.executable, str(ROOT / "scripts" / "progress.py"), "--venv", "venv", step, "sh", "-c", script]


def piped(folder: Path, step: str, script: str) -> tuple[subprocess.CompletedProcess[str], str]:
    done = subprocess.run(
        command(step, script), cwd=folder, capture_output=True, text=True, check=False, timeout=patient(SECONDS)
    )
    return done, (folder / "build" / f"{step}.log").read_text()


class Step:
    """A step on a terminal of its own, or on a pipe. Its command may wait for `go`, which is a pipe."""

    def __init__(self, folder: Path, step: str, script: str, columns: int) -> None:
        self.folder, self.text, self._log = folder, "", folder / "build" / f"{step}.log"
        os.mkfifo(folder / "go")
        self._shown, end = os.openpty() if columns else os.pipe()
        if columns:
            fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": "xterm"}
        self.process = subprocess.Popen(
            ["env", "--default-signal=HUP,INT",  # the tests may run under nohup, or in a shell's background
             *(["setsid", "--ctty"] if columns else []), *command(step, script)],
            cwd=folder, env=environment, stdin=end if columns else None, stdout=end, stderr=end,
        )  # fmt: skip
        os.close(end)

    def _read(self) -> bool:
        """Whether there may be more."""
        if not readable(self._shown, 0):
            return True
        try:
            data = os.read(self._shown, 1 << 16)
        except OSError:  # nobody has the terminal any more
            return False
        self.text += data.decode()
        return bool(data)

    def shows(self, pattern: str) -> None:
        until(lambda: self._read() and re.search(pattern, self.text) is not None, SECONDS, f"{pattern!r} is shown")

    def logs(self, line: str) -> None:
        until(lambda: self._log.exists() and f"{line}\n" in self._log.read_text(), SECONDS, f"{line!r} is in the log")

    def go(self) -> None:
        (self.folder / "go").write_text("")

    def type(self, keys: bytes) -> None:
        os.write(self._shown, keys)

    def ends(self) -> int:
        until(lambda: not self._read(), SECONDS, "nobody writes any more")
        return self.process.wait(patient(SECONDS))

    def left(self) -> str:
        """What can be read in the end."""
        lines = [line.rpartition("\r")[2].replace("\033[K", "") for line in self.text.replace("\r\n", "\n").split("\n")]
        return "\n".join(lines)

    def close(self) -> None:
        """Asks until it has ended; asked for the third time it kills the command."""

        def has_ended() -> bool:
            self.process.terminate()
            return self.process.poll() is not None

        until(has_ended, SECONDS, "the step has ended")
        os.close(self._shown)


Start = Callable[..., Step]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    steps: list[Step] = []

    def begin(name: str, script: str, columns: int = 100) -> Step:
        steps.append(Step(tmp_path, name, script, columns))
        return steps[-1]

    yield begin
    for one in steps:
        one.close()


def test_a_line_at_each_fifth_where_there_is_no_terminal(tmp_path: Path) -> None:
    done, log = piped(tmp_path, "native", 'for i in $(seq 20); do echo "[$i/20] Building"; done')
    assert (done.returncode, done.stderr) == (0, "")
    shown = [line.split(",")[0].strip() for line in done.stdout.splitlines() if " of " in line]
    assert shown == [f"native build: {4 * part} of 20 files" for part in range(1, 6)]
    assert log.count("Building") == 20


@pytest.mark.parametrize("step", ["native", "torch", "system"])
def test_nothing_to_do_says_nothing(tmp_path: Path, step: str) -> None:
    said = "ninja: no work to do.\nRequirement already satisfied: torch===2.11.0\n"
    done, log = piped(tmp_path, step, say(said.splitlines()))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert log == said


def test_the_end_of_a_failure_is_shown(tmp_path: Path) -> None:
    done, log = piped(tmp_path, "native", 'for i in $(seq 100); do echo "line $i" >&2; done; exit 3')
    assert done.returncode == 3
    assert done.stderr.startswith("".join(f"line {number}\n" for number in range(41, 101)))
    assert done.stderr.endswith("\n(native build failed; all of its output is in build/native.log)\n")
    assert log.startswith("line 1\n")


def test_pip_that_fails(tmp_path: Path) -> None:
    done, log = piped(tmp_path, "torch", say(PIP_FAILS) + "exit 1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[:-1] == log.splitlines() == PIP_FAILS


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    arguments = [*command("venv", "")[:-3], "no-such-command"]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (127, "no-such-command: No such file or directory\n")


def test_a_service_left_behind_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    done, _ = piped(tmp_path, "system", "cat go & exit 0")
    assert done.returncode == 0
    (tmp_path / "go").write_text("")


@pytest.mark.parametrize("version", PIP)
def test_pip_on_a_terminal(tmp_path: Path, start: Start, version: str) -> None:
    """Sizes are those of files, also before 24.1, which says nothing of a download that goes on."""
    before, installing = PIP[version]
    grow = "mkdir -p $TMPDIR/pip-unpack-x $TMPDIR/tmpcache venv && truncate -s 1360MB {} && cat go\n"
    script = say(before) + grow.format("$TMPDIR/pip-unpack-x/a.whl $TMPDIR/tmpcache/body")
    terminal = start("torch", script + say(installing) + "cat go\n" + grow.format("venv/a") + say(PIP_DONE))
    terminal.shows(r"   PyTorch, download: \[#{15} {15}\] 1\.4 of about 2\.7 GB, \d+ s")
    terminal.go()
    terminal.logs(installing[-1])
    terminal.go()
    terminal.shows(r"   PyTorch, installation: \[#{8} {22}\] 1\.4 of about 4\.8 GB, \d+ s")
    terminal.go()
    assert terminal.ends() == 0
    assert re.fullmatch(r"(   PyTorch: done, \d+ s\n)?", terminal.left())
    assert "WARNING" not in terminal.text
    assert (tmp_path / "build/torch.log").read_text().splitlines() == before + installing + PIP_DONE
    assert not (tmp_path / "build/pip").exists()


def test_pip_where_there_is_no_terminal(start: Start) -> None:
    before, installing = PIP["22.0"]
    script = f"{say(before + installing)}cat go; mkdir venv; truncate -s 1936MB venv/a; cat go\n{say(PIP_DONE)}"
    step = start("torch", script, columns=0)
    step.logs(installing[-1])
    step.go()
    step.shows("\n")
    step.go()
    assert step.ends() == 0
    assert re.fullmatch(
        r"   PyTorch, installation: 1\.9 of about 4\.8 GB, \d+ s\n(   PyTorch: done, \d+ s\n)?", step.text
    )


def test_apt_on_a_terminal(tmp_path: Path, start: Start) -> None:
    terminal = start("system", f"{say(APT[:5])} cat go\n{say(APT[5:])} cat go")
    terminal.shows(r"   system packages, download: \[#{22} {8}\] 74 %, \d+ s")
    terminal.go()
    terminal.shows(r"   system packages, installation: \[#{13} {17}\] 44 %, \d+ s")
    terminal.go()
    assert terminal.ends() == 0
    log = (tmp_path / "build/system.log").read_text()
    assert "status:" not in log
    assert "\n(Reading database ... 111704 files)\n" in log


def test_what_says_nothing_is_alive(start: Start) -> None:
    terminal = start("native", "cat go")
    terminal.shows(r"   native build: (\d+ s).*   native build: (?!\1)\d+ s")
    terminal.go()
    assert terminal.ends() == 0


@pytest.mark.parametrize("columns", [30, 58, 70])
def test_a_narrow_terminal(start: Start, columns: int) -> None:
    terminal = start("system", f"{say(APT)} cat go", columns)
    terminal.shows("system packages, install")
    terminal.go()
    assert terminal.ends() == 0
    drawn = re.findall(r"\r(   [^\r\n]*)\033\[K", terminal.text)
    assert {len(line) for line in drawn} <= set(range(20, columns))


def stopped(terminal: Step) -> None:
    """Nothing is left of the command, of the bar and of a reason to worry."""
    pids = [int(one) for one in (terminal.folder / "pids").read_text().split()]
    for pid in pids:
        until(lambda pid=pid: not Path(f"/proc/{pid}").exists(), SECONDS, f"process {pid} has ended")
    assert terminal.left().replace("^C", "").strip() == ""
    assert not (terminal.folder / "build/pip").exists()


SLOW = "echo $$ >> pids; sh -c 'echo $$ >> pids; cat go; true'; true"


@pytest.mark.parametrize("step", ["torch", "native"])
def test_interrupted_at_the_terminal(start: Start, step: str) -> None:
    terminal = start(step, say(["[4/20] Building", "Collecting torch"]) + SLOW)
    terminal.shows(r", \d+ s")
    terminal.type(b"\x03")
    assert terminal.ends() == 130
    stopped(terminal)


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_ended_by_a_signal(start: Start, sent: signal.Signals, status: int) -> None:
    terminal = start("torch", SLOW)
    terminal.shows(r": \d+ s")
    terminal.process.send_signal(sent)
    assert terminal.ends() == status
    stopped(terminal)


@pytest.mark.parametrize("deaf", ["INT", "INT TERM"])
def test_who_cannot_wait(tmp_path: Path, start: Start, deaf: str) -> None:
    """A command that finishes what it has begun, such as apt-get, is given time, until somebody asks again."""
    heard = f"trap 'echo >> heard' {deaf}; echo $$ > pids; while :; do read x < go; done"
    terminal = start("system", heard)

    def asked(times: int) -> Callable[[], bool]:
        return lambda: (tmp_path / "heard").exists() and len((tmp_path / "heard").read_text()) == times

    terminal.shows(r": \d+ s")
    for times in range(1, len(deaf.split()) + 1):
        terminal.process.send_signal(signal.SIGINT)
        until(asked(times), SECONDS, "the command was asked")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.ends() == 130
    stopped(terminal)
