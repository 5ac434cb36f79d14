"""A fake service per test, and client programs in processes of their own.

The session layer keeps one session per GPU for the life of its process, so each test that opens one runs its client
in a child process: a program text over the names of session_binding.py. The service stays in the test.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from page_rig import page, pinned  # noqa: E402, F401 - fixtures
from standin_node import Node  # noqa: E402

_PRELUDE = f"""
import os, sys, threading
sys.path[:0] = [{str(HERE.parents[2])!r}, {str(HERE)!r}]
from session_binding import *
from toolkit.waiting import until
def told(text):
    print(text, flush=True)
def go():
    assert sys.stdin.readline() == "go\\n"
"""


class Client:
    """A client program that runs; it and the test take turns with told() and go()."""

    def __init__(self, program: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PRELUDE + program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A sanitizer's runtime must come first in the client, and would only disturb the service here.
            env={**os.environ, "LD_PRELOAD": os.environ.get("JITC_TEST_PRELOAD", ""), **environment},
        )

    def hear(self) -> str:
        """The next line that the program told."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def finish(self, seconds: float = 60) -> tuple[str, str]:
        """Waits for its good end; the rest of its output, and what was said on stderr."""
        out, err = self.process.communicate(timeout=seconds)
        assert self.process.returncode == 0, err
        return out.rstrip("\n"), err

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def prelude() -> str:
    """What each client's program begins with, for programs that start clients themselves."""
    return _PRELUDE


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="jr") as name:
        yield Path(name)


@pytest.fixture
def node(folder: Path) -> Iterator[Node]:
    running = Node(folder).start()
    yield running
    running.stop()


@pytest.fixture
def client(folder: Path) -> Iterator[Callable[..., Client]]:
    """Starts a client program against the socket of the test's service."""
    made: list[Client] = []

    def start(program: str, **environment: str) -> Client:
        made.append(Client(program, **{"JITC_SOCKET": str(folder / "proxyd.sock"), **environment}))
        return made[-1]

    yield start
    for one in made:
        one.end()
