"""Processes that a probe needs beside its own, each a part of __main__.py.

Called by: the probes. Promise: closing ends the process.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from types import TracebackType
from typing import Any


class PartFailed(Exception):
    """A part gave an error, nothing, or nothing in time."""


class Part:
    """A part that runs; its lines are documents."""

    def __init__(self, name: str, request: dict[str, Any], **environ: str) -> None:
        plain = {key: value for key, value in request.items() if key != "answers"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gpu.preflight", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=os.environ | environ,
        )  # fmt: skip
        self._buffer = b""
        self.tell(plain)

    def __enter__(self) -> Part:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close() if stream else None

    def tell(self, document: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(document).encode() + b"\n")
        self.process.stdin.flush()

    def line(self, seconds: float) -> dict[str, Any]:
        """The next document."""
        assert self.process.stdout is not None
        descriptor, until = self.process.stdout.fileno(), time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(max(0.0, until - time.monotonic())):
                    raise PartFailed(f"no answer within {seconds:g} s")
                data = os.read(descriptor, 1 << 16)
                if not data:
                    raise PartFailed(f"its process ended with {self.process.wait(5)}")
                self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        document: dict[str, Any] = json.loads(line)
        return document

    def result(self, seconds: float) -> dict[str, Any]:
        """What it found, at its end."""
        document = self.line(seconds)
        if not document.get("ok"):
            raise PartFailed(document.get("error", "no answer"))
        data: dict[str, Any] = document["data"]
        return data
