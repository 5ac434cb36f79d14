"""Servers and streams for the transport's tests; all end with the test."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import raw_server as server
import transport_binding as binding


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short, because a socket path has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="jt") as name:
        yield Path(name)


@pytest.fixture
def path(folder: Path) -> Iterator[str]:
    """Socket of a server in this process."""
    running = server.serve(str(folder / "s"))
    yield str(folder / "s")
    running.stop(0).wait()


class Server:
    """A server in a process of its own."""

    def __init__(self, path: str) -> None:
        self.path = path
        command = [sys.executable, str(Path(server.__file__)), path]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._pipe(self.process.stdout).readline() == b"ready\n"

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe

    def allow(self, reads: int) -> None:
        """Method Slow may read so many messages more."""
        pipe = self._pipe(self.process.stdin)
        pipe.write(b"." * reads)
        pipe.flush()

    def end(self) -> None:
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            self._pipe(pipe).close()
        self.process.wait()


@pytest.fixture
def process(folder: Path) -> Iterator[Server]:
    running = Server(str(folder / "p"))
    yield running
    running.end()


@pytest.fixture
def stream() -> Iterator[Callable[..., binding.Stream]]:
    made: list[binding.Stream] = []

    def make(*arguments: object, **options: object) -> binding.Stream:
        made.append(binding.Stream(*arguments, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.close()
