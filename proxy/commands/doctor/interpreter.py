"""The file that the kernel starts for a program, and the Python of a Python program.

Called by: program.py. Promise: the program itself is not started; its Python is, to say its version and its folders,
within a time limit.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import child
from .check import Context, NoVerdict

_PYTHON = re.compile(r"(?:python|pypy)\d*(?:\.\d+)*t?")
#: Interpreters between a script and a program that the kernel follows.
_CHAIN = 4
_LINE = 4096
_SAYS = """
import json, sys
from importlib.util import find_spec
torch = find_spec("torch")
print(json.dumps({
    "version": ".".join(map(str, sys.version_info[:3])), "folders": [one for one in sys.path if one],
    "prefix": sys.prefix,
    "jitc": find_spec("jitc") is not None, "torch": list(torch.submodule_search_locations or [""])[0] if torch else "",
}))
"""


@dataclass(frozen=True)
class Subject:
    """A program. started: the file that the kernel starts in the end; words: the command with all interpreters."""

    file: Path
    started: Path
    words: tuple[str, ...]

    @property
    def is_python(self) -> bool:
        return _PYTHON.fullmatch(self.started.name) is not None

    @property
    def script(self) -> Path | None:
        """The program's own Python file: with a launcher, the one that it starts."""
        named = [Path(one) for one in self.words if one.endswith(".py")]
        return next((one for one in named if one.is_file()), None)

    @property
    def module(self) -> str:
        """The module of `python -m MODULE`; empty: none."""
        before = self.words[: self.words.index("-m") + 2] if "-m" in self.words else ()
        return before[-1] if len(before) > 2 else ""


@dataclass(frozen=True)
class Python:
    """The answer of a Python about itself. prefix: the folder of its environment; jitc: it has the package; torch: the
    folder of its PyTorch; empty: none."""

    version: str
    prefix: str
    jitc: bool
    folders: list[str]
    torch: str


class NoProgram(NoVerdict):
    """The program cannot be started; the text says why."""


def subject(context: Context) -> Subject:
    """Raises NoProgram."""
    named = context.program[0]
    file = Path(_found(named)).absolute()
    words, started = context.program[1:], file
    for _ in range(_CHAIN):
        interpreter = _interpreter(started)
        if not interpreter:
            return Subject(file, started, (str(started), *words))
        words = (*interpreter[1:], str(started), *words)
        started = Path(_found(interpreter[0])).absolute()
    raise NoProgram(f"{named} is a script of a script of a script")


def _found(named: str) -> str:
    found = shutil.which(named)
    if found is not None and Path(found).is_file():
        return found
    path = Path(found or named)
    if found is None and "/" not in named:
        raise NoProgram(f"there is no program {named} on PATH")
    if path.is_dir():
        raise NoProgram(f"{named} is a folder")
    if path.exists() and not path.is_file():
        raise NoProgram(f"{named} is no file")
    raise NoProgram(f"{named} is not executable" if path.exists() else f"{named}: there is no such file")


def _interpreter(path: Path) -> list[str]:
    """Returns the words of a script's first line; none for another file. `env` counts as what it starts."""
    try:
        with path.open("rb") as file:
            line = file.readline(_LINE)
    except OSError:
        return []
    if not line.startswith(b"#!"):
        return []
    words = os.fsdecode(line[2:].split(b"\0")[0]).split()
    if words and Path(words[0]).name == "env":
        words = [one for one in words[1:] if not one.startswith("-") and "=" not in one]
    if not words:
        raise NoProgram(f"the first line of {path} names no interpreter")
    return words


def python(context: Context) -> Python:
    """Asks the program's Python. Raises NoProgram, child.Slow, OSError."""
    done = child.ran([str(subject(context).started), "-c", _SAYS])
    try:
        return Python(**json.loads(done.output))
    except (ValueError, TypeError):
        raise NoProgram(f"its Python does not answer: {done.why()}") from None
