"""A private jitc-proxyd of a step: started, asked, given faults, ended; what it knew is kept.

Called by: the steps. Promise: its status and report are in the step's folder when it ends, whatever the step came to.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from .lab import Lab, Program, StepFailed, make_importable

START_SECONDS, CALL_SECONDS = 90.0, 5.0
#: Runs by itself at step 100 of a job otherwise: in the middle of what is timed, or struck.
NO_VALIDATION = ("--validate-every", "0")
#: A job whose boundaries are spaced relies on copies, not on peers.
ALL_BOUNDARIES = ("--boundary-budget", "0")


class Service:
    """Ready once it is made. Ended with its `with`, or with the step."""

    def __init__(self, lab: Lab, *options: str) -> None:
        self._lab = lab
        self._folder = lab.scratch()
        self.socket = f"{self._folder}/s"
        command = [sys.executable, "-m", "jitc.proxy.commands.proxyd", "--socket", self.socket, "--device", lab.device]
        words = [*command, "--die-with-parent", *lab.options, *options]
        self.program = lab.start("service", words, lab.environment())
        line = self.program.line(START_SECONDS)
        if line is None or not line.startswith("jitc-proxyd ready"):
            raise StepFailed(f"jitc-proxyd did not start: {self.program.tail() or line}")

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def command(self, *words: str, seconds: float = 30.0) -> str:
        """`jitc WORDS` on this service; its output."""
        told = self._lab.environment() | {"JITC_SOCKET": self.socket}
        try:
            done = subprocess.run(
                [sys.executable, "-m", "jitc.proxy.commands.jitc", *words], env=told, capture_output=True, text=True,
                timeout=self._lab.left(seconds), check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise StepFailed(f"`jitc {' '.join(words)}` did not answer in time") from None
        if done.returncode:
            raise StepFailed(f"`jitc {' '.join(words)}`: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def start(self, *words: str) -> Program:
        """`jitc WORDS`, without waiting for it."""
        told = self._lab.environment() | {"JITC_SOCKET": self.socket}
        return self._lab.start(f"jitc-{words[0]}", [sys.executable, "-m", "jitc.proxy.commands.jitc", *words], told)

    def inject(self, kind: str, at: str, gpu: int = 0) -> None:
        self.command("inject", kind, "--gpu", str(gpu), "--at", at)

    def status(self) -> dict[str, Any]:
        return self._ask("Status")

    def report(self) -> dict[str, Any]:
        return self._ask("Report")

    def recoveries(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.report()["recoveries"]
        return found

    def boundary(self, gpu: int = 0) -> int:
        """The newest one of the GPU's first session; 0 when there is none."""
        sessions = self.status()["gpus"][gpu]["sessions"]
        return int(sessions[0]["boundary"]) if sessions else 0

    def workers(self) -> list[dict[str, Any]]:
        """What each worker that serves says of itself: worker.proto, Stats."""
        make_importable()
        import grpc

        from jitc.proxy.common import rpc
        from jitc.v1 import worker_pb2

        found = []
        for socket in sorted(Path(f"{self.socket}.d").glob("w*")):
            with rpc.channel(str(socket)) as link, contextlib.suppress(grpc.RpcError):
                found.append(json.loads(rpc.worker(link).Stats(worker_pb2.Empty(), timeout=CALL_SECONDS).json))
        return [one for one in found if one.get("sessions")]

    def said(self) -> str:
        return self.program.said()

    def close(self) -> None:
        if self.program.closed:
            return
        for name in ("Status", "Report"):
            with contextlib.suppress(Exception):  # it may have ended, or not answer: evidence only
                text = json.dumps(self._ask(name), indent=1)
                self._lab.file(f"{name.lower()}.json").write_text(text + "\n")
        self._lab.close_since(self._lab.place(self.program) + 1)  # who uses it
        with contextlib.suppress(ProcessLookupError):
            self.program.process.send_signal(signal.SIGTERM)
        self.program.close(20.0)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _ask(self, what: str) -> dict[str, Any]:
        make_importable()
        from jitc.proxy.common import rpc
        from jitc.v1 import control_pb2

        request = getattr(control_pb2, f"{what}Request")()
        with rpc.channel(self.socket) as link:
            reply = getattr(rpc.admin(link), what)(request, timeout=CALL_SECONDS)
        document: dict[str, Any] = json.loads(reply.json)
        return document
