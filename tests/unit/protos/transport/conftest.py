"""Servers and streams for the transport's tests; all end with the test."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import IO

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import raw_client
import raw_server as server
import transport_binding as binding
from http2_bytes import METHOD


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short, because a socket path has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="jt") as name:
        yield Path(name)


class Server:
    """One of the programs here, in a process of its own: a stock grpcio server, or clients. Without what is preloaded
    here: a sanitizer watches our half of the transport, not grpcio's."""

    def __init__(self, path: str, program: ModuleType = server) -> None:
        self.path = path
        command = [sys.executable, str(Path(str(program.__file__))), path]
        plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=plain)
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


@pytest.fixture(scope="module")
def path() -> Iterator[str]:
    """Socket of a server that a module's tests share."""
    with tempfile.TemporaryDirectory(prefix="jt") as name:
        running = Server(f"{name}/s")
        yield running.path
        running.end()


@pytest.fixture(scope="module")
def clients() -> Iterator[raw_client.Clients]:
    """Where stock clients are made."""
    with tempfile.TemporaryDirectory(prefix="jt") as name:
        running = Server(f"{name}/c", raw_client)
        made = raw_client.Clients(running.path, raw_client.KEY)
        made.connect()
        yield made
        running.end()


@pytest.fixture
def connect(folder: Path, clients: raw_client.Clients) -> Iterator[Callable[..., raw_client.Client]]:
    """Makes stock clients of the server at s in the folder."""
    made: list[raw_client.Client] = []

    def make(method: str = METHOD, metadata: tuple[tuple[str, str], ...] = ()) -> raw_client.Client:
        made.append(clients.Client(str(folder / "s"), method, metadata))
        return made[-1]

    yield make
    for one in made:
        one.close()


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
