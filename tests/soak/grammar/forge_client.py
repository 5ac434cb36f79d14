"""The process that starts ranks (script/forge.py), as seen from here.

Called by: pool.py. Promise: lines come in order, each once; it and all its ranks end with `end`.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import Any

from toolkit.job import PRELOAD, ROOT
from toolkit.service import Service

START_SECONDS = 180.0


class Forge:
    """Ranks of many programs, on one service."""

    def __init__(self, service: Service) -> None:
        env = service.env | {"LD_PRELOAD": str(PRELOAD), "PYTHONPATH": str(ROOT / "tests")}
        self.log = service.folder.parent / f"{service.folder.name}.forge.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "soak.grammar.script.forge"], env=env, cwd=ROOT,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._seen = b""
        if not self.line(START_SECONDS):
            self.end()
            raise AssertionError(f"the process that starts ranks does not come: {self.log.read_text()}")

    def ask(self, **asked: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write((json.dumps(asked) + "\n").encode())
        self._process.stdin.flush()

    def line(self, seconds: float) -> dict[str, Any] | None:
        """The next one; None: there is none within so long."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + seconds
        while b"\n" not in self._seen:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                return None
            more = os.read(self._process.stdout.fileno(), 65536)
            if not more:
                raise AssertionError(f"the process that starts ranks has ended: {self.log.read_text()[-2000:]}")
            self._seen += more
        line, self._seen = self._seen.split(b"\n", 1)
        said: dict[str, Any] = json.loads(line)
        return said

    def end(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)  # with the ranks that it has
        self._process.wait()
        for one in (self._process.stdin, self._process.stdout):
            assert one is not None
            one.close()
