"""Runs a step of the set-up and shows how far it is: a bar on a terminal, else a few lines where it takes long.

    progress.py [--venv FOLDER] STEP COMMAND...

Called by: setup.mk, system-packages.sh. Promises: all output of the command goes to build/STEP.log; of one
that fails the last 60 lines are shown, and its status is this one's; a step with nothing to do says nothing. Ctrl-C
ends the command with its children, and the status is then 130. Needs nothing but Python.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from types import FrameType

from steps import STEPS, TICK, Far, Reader, Step

WIDTH, PARTS, LAST = 30, 5, 60
#: Seconds after which a bar is shown, and after which the end is told.
SOON, LONG = 1.0, 2.0


class Bar:
    """A line that is rewritten on a terminal; elsewhere, of what takes long, a new line at each fifth."""

    def __init__(self, step: Step) -> None:
        self._step, self._began = step, time.monotonic()
        self._terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self._told: dict[str, int] = {}
        self._drawn = False

    def show(self, far: Far) -> None:
        if self._terminal:
            if time.monotonic() - self._began >= SOON:
                self._draw(far)
        elif self._step.long and far.whole:
            part = min(far.done * PARTS // far.whole, PARTS)
            if part > self._told.get(far.phase, 0):
                self._told[far.phase] = part
                print(f"   {self._label(far)} {far}, {self._seconds()}", flush=True)

    def end(self, ok: bool) -> None:
        """Removes the bar. What took long and went well leaves a line."""
        if self._drawn:
            print("\r\033[K", end="", flush=True)
        if ok and time.monotonic() - self._began >= LONG:
            print(f"   {self._step.title}: done, {self._seconds()}", flush=True)

    def _draw(self, far: Far) -> None:
        columns = shutil.get_terminal_size().columns - 1  # in the last one some terminals begin a new line
        label, state = f"   {self._label(far)} ", f"{far}, {self._seconds()}" if far.whole else self._seconds()
        width = min(WIDTH, columns - len(label) - len(state) - len("[] "))
        if far.whole and width > 0:
            full = min(width * far.done // far.whole, width)
            label += f"[{'#' * full}{' ' * (width - full)}] "
        print(f"\r{(label + state)[:columns]}\033[K", end="", flush=True)
        self._drawn = True

    def _label(self, far: Far) -> str:
        return ", ".join(filter(None, (self._step.title, far.phase))) + ":"

    def _seconds(self) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


class Command:
    """A command in a session of its own: a signal reaches it with its children, and only by way of this process."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.signals: list[int] = []
        self._run: subprocess.Popen[bytes] | None = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._note)
        self._run = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, **environment}, start_new_session=True,
        )  # fmt: skip
        if self.signals:
            self._forward(self.signals[0])

    def _note(self, number: int, _: FrameType | None) -> None:
        """Passes the first one on. Who sends another cannot wait: the command is ended less gently then."""
        sent = (number, signal.SIGTERM, signal.SIGKILL)[min(len(self.signals), 2)]
        self.signals.append(number)
        self._forward(sent)

    def _forward(self, number: int) -> None:
        if self._run is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._run.pid, number)

    def read(self) -> bytes | None:
        """Returns some output; nothing if there is none for a while, None at its end. A service that the command has
        left behind, with the same output, is not waited for."""
        assert self._run is not None and self._run.stdout is not None
        readable, _, _ = select.select([self._run.stdout], [], [], TICK)
        if readable:
            return os.read(self._run.stdout.fileno(), 1 << 16) or None
        return None if self._run.poll() is not None and len(self.signals) not in (1, 2) else b""

    def status(self) -> int:
        assert self._run is not None
        status = self._run.wait()
        if self.signals:
            return 128 + self.signals[0]
        return status if status >= 0 else 128 - status


def follow(command: Command, reader: Reader, bar: Bar, log: Path) -> deque[str]:
    """Reads a command's output to its end. Returns the last lines of it."""
    last, rest = deque[str](maxlen=LAST), b""
    with log.open("w", encoding="utf-8") as kept:

        def take(line: bytes) -> None:
            text = line.rstrip(b"\r").rpartition(b"\r")[2].decode(errors="replace")
            if reader.line(text):
                last.append(text)
                print(text, file=kept, flush=True)
            bar.show(reader.look())

        while (data := command.read()) is not None:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                take(line)
            bar.show(reader.look())
        if rest:
            take(rest)
    return last


def run(name: str, arguments: list[str], venv: Path) -> int:
    step, log = STEPS[name], Path("build", f"{name}.log")
    log.parent.mkdir(exist_ok=True)
    reader, bar = step.reader(step, venv), Bar(step)
    try:
        command = Command(arguments, reader.environment())
    except OSError as error:
        print(f"{arguments[0]}: {error.strerror}", file=sys.stderr)
        return 127
    last = follow(command, reader, bar, log)
    status = command.status()
    bar.end(ok=status == 0)
    reader.end()
    if status and not command.signals:
        print(*last, f"({step.title} failed; all of its output is in {log})", sep="\n", file=sys.stderr)
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs a step of the set-up and shows how far it is.")
    parser.add_argument("--venv", type=Path, default=Path(".venv"), help="the virtual environment")
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    return run(options.step, options.command, options.venv)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
