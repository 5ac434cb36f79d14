"""The `jitc` command in a process of its own, on a pseudo-terminal or with pipes.

Called by: tests of this folder. Promise: all that it writes is read at once; no process outlives its test.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from typing import Any

from toolkit.waiting import patient, until

#: Where the tests ignore Ctrl-C (a shell ignores it for what runs in its background), the command would too.
JITC = ["env", "--default-signal=INT", sys.executable, "-m", "jitc.proxy.commands.jitc"]
#: Variables of the terminal on which the tests run.
_TERMINAL = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
HOME, ALTERNATE, NORMAL, CURSOR, NO_CURSOR = "\x1b[H", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h", "\x1b[?25l"


class Command:
    """One command. Its output and, through a pipe, its errors grow while it runs. words: with the program's."""

    def __init__(self, words: tuple[str, ...], environment: dict[str, str], columns: int) -> None:
        env = {name: value for name, value in os.environ.items() if name not in _TERMINAL}
        env |= {"TERM": "xterm"} | environment
        self._texts = {"output": "", "errors": ""}
        self._threads: list[threading.Thread] = []
        if columns:
            self.master, there = pty.openpty()
            self.resize(columns)
            self.process = self._started(["setsid", "--ctty", *words], env, there, there, there)
            os.close(there)
            self._read("output", self.master)
        else:
            self.master = -1
            self.process = self._started([*words], env, subprocess.DEVNULL, subprocess.PIPE, subprocess.PIPE)
            for name, pipe in (("output", self.process.stdout), ("errors", self.process.stderr)):
                self._read(name, pipe.fileno())

    def _started(self, words: list[str], env: dict[str, str], *files: int) -> Any:
        return subprocess.Popen(words, env=env, stdin=files[0], stdout=files[1], stderr=files[2])

    def _read(self, name: str, descriptor: int) -> None:
        def read() -> None:
            with contextlib.suppress(OSError):  # a terminal without programs
                while data := os.read(descriptor, 65536):
                    self._texts[name] += data.decode()

        self._threads.append(threading.Thread(target=read))
        self._threads[-1].start()

    @property
    def output(self) -> str:
        return self._texts["output"]

    @property
    def errors(self) -> str:
        return self._texts["errors"]

    @property
    def picture(self) -> str:
        """The newest whole picture of a terminal that is redrawn."""
        return clean(self.output.split(HOME)[-1])

    def says(self, text: str, times: int = 1) -> None:
        """Waits until the text is there so many times."""
        until(lambda: self.output.count(text) >= times, 30, f"{text!r} in {self.output!r}; {self.errors!r}")

    def shows(self, text: str) -> None:
        """Waits until a picture has the text."""
        until(lambda: text in self.picture, 30, f"{text!r} in {self.picture!r}")

    def resize(self, columns: int, lines: int = 40) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def ended(self, number: int = 0) -> int:
        """Sends a signal, if one is given. Returns the exit status, when all that was written has been read."""
        if number:
            self.process.send_signal(number)
        status: int = self.process.wait(patient(30))
        for thread in self._threads:
            thread.join(patient(30))
        return status

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.ended()
        if self.master >= 0:
            os.close(self.master)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


class Commands:
    """The commands of a test."""

    def __init__(self) -> None:
        self._started: list[Command] = []

    def piped(self, *words: str, **environment: str) -> Command:
        return self._add(Command((*JITC, *words), environment, 0))

    def on_terminal(self, *words: str, columns: int = 80, **environment: str) -> Command:
        return self._add(Command((*JITC, *words), environment, columns))

    def shell(self) -> Command:
        """A shell with jobs, on a terminal of its own; its prompt is "$ "."""
        words = ("bash", "--norc", "--noprofile", "--noediting", "-i")
        return self._add(Command(words, {"PS1": "$ ", "LC_ALL": "C"}, 80))

    def _add(self, one: Command) -> Command:
        self._started.append(one)
        return one

    def end(self) -> None:
        for one in self._started:
            one.close()


def clean(text: str) -> str:
    """The text without codes, as a terminal that is never redrawn shows it."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text).replace("\r\n", "\n")
