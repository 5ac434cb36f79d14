"""A private jitc-proxyd for a test, driven as a user drives it."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc

from jitc.v1 import control_pb2, control_pb2_grpc

from .waiting import patient, until

BIN = Path(sys.executable).parent
START_SECONDS = 90.0
STOP_SECONDS = 30.0
#: More deaths at one place than any job may have.
LOSSES = 6
RECOVERY_SECONDS = 60.0
#: The jitc-proxyd of another version of jitc, for python -c.
OTHER_VERSION = """
import sys
from jitc.proxy import service
from jitc.proxy.commands import proxyd
service.VERSIONS = service.VERSIONS | {"protocol": 99}
sys.exit(proxyd.main())
"""


def more_options(options: tuple[str, ...]) -> list[str]:
    """Of JITC_TEST_SERVICE, for the services of any test on the software device: tests/soak runs tests with them."""
    return [] if "cuda" in options else shlex.split(os.environ.get("JITC_TEST_SERVICE", ""))


def attempts(report: list[dict[str, Any]]) -> int:
    return sum(one["attempts"] for one in report)


class Service:
    """Runs until stop(); its output goes to log. before: words before its command (sandbox.py)."""

    def __init__(
        self,
        folder: Path,
        env: dict[str, str],
        gpus: int = 2,
        options: tuple[str, ...] = (),
        before: tuple[str, ...] = (),
    ) -> None:
        self.folder, self.gpus = folder, gpus
        self.unproven = False  # whether a recovery of which ranks differ afterwards is what the test wants
        self.socket = folder / "proxyd.sock"
        self.log = folder / "proxyd.log"
        self.env = {**env, "JITC_SOCKET": str(self.socket)}
        command = [*before, str(BIN / "jitc-proxyd"), "--device", "software", "--gpus", str(gpus), "--die-with-parent"]
        self.command = [*command, "--socket", str(self.socket), *options, *more_options(options)]
        self.process = self._start()

    def _start(self, *more: str) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*self.command, *more], stdout=subprocess.PIPE, stderr=log, env=self.env, start_new_session=True
            )

    def ready(self) -> Service:
        """Waits for the ready line."""
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        os.set_blocking(descriptor, False)
        seen = bytearray()

        def line() -> bool:
            with contextlib.suppress(BlockingIOError):
                seen.extend(os.read(descriptor, 4096))
            if self.process.poll() is not None:
                raise AssertionError(f"jitc-proxyd ended with {self.process.returncode}: {self.said()}")
            return b"\n" in seen

        until(line, START_SECONDS, "jitc-proxyd's ready line")
        return self

    def restart(self) -> Service:
        """Starts it again after it ended."""
        assert self.process.poll() is not None
        self.process = self._start()
        return self.ready()

    def replace(self) -> Service:
        """Another one takes over from it."""
        before = self.process
        self.process = self._start("--replace")
        self.ready()
        assert before.stdout is not None
        before.stdout.close()
        return self

    def kill(self) -> None:
        """SIGKILL, as the machine's administrator or a lack of memory would do it."""
        self.process.kill()
        self.process.wait(patient(STOP_SECONDS))
        assert self.process.stdout is not None
        self.process.stdout.close()

    def stop(self) -> int:
        """SIGTERM, and its exit status; SIGKILL and an error when it does not end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(patient(STOP_SECONDS))
        except subprocess.TimeoutExpired:
            self._write_stacks()
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            raise AssertionError(f"jitc-proxyd did not end within {patient(STOP_SECONDS):g} s of SIGTERM") from None
        finally:
            if self.process.stdout is not None:
                self.process.stdout.close()

    def _write_stacks(self) -> None:
        """Has it write its threads' stacks to its log."""
        sizes = [self.log.stat().st_size]
        self.process.send_signal(signal.SIGUSR1)

        def written() -> bool:
            sizes.append(self.log.stat().st_size)
            return sizes[0] < sizes[-2] == sizes[-1]

        with contextlib.suppress(AssertionError):  # it may be past its handlers
            until(written, 5, "the service's stacks")

    # ---- what it says ---------------------------------------------------------------------------
    def said(self) -> str:
        """Its output, without the ready line."""
        return self.log.read_text(errors="replace")

    def _admin(self, method: str, request: Any, timeout: float) -> Any:
        with grpc.insecure_channel(f"unix:{self.socket}") as channel:
            stub = control_pb2_grpc.AdminStub(channel)
            return getattr(stub, method)(request, timeout=patient(timeout))

    def status(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self._admin("Status", control_pb2.StatusRequest(), 30).json)
        return document

    def report(self) -> list[dict[str, Any]]:
        return self._report("recoveries")

    def divergences(self) -> list[dict[str, Any]]:
        return self._report("divergences")

    def races(self) -> list[dict[str, Any]]:
        return self._report("races")

    def injected(self) -> list[dict[str, Any]]:
        """Faults that have fired."""
        return self._report("injected")

    def hosts(self) -> dict[int, int]:
        """Of each rank, the GPU that serves it."""
        sessions = [one for gpu in self.status()["gpus"] for one in gpu["sessions"]]
        return {one["rank"]: one["host"] for one in sessions}

    def _report(self, what: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self._admin("Report", control_pb2.ReportRequest(), 30).json)[what]
        return found

    def survived(self, faults: int, outcome: str = "recovered") -> list[dict[str, Any]]:
        """What it tells of this many faults once all of them are over.

        A fault that comes while an earlier one is being mended is told with it, as one more attempt.
        """
        until(lambda: attempts(self.report()) >= faults, RECOVERY_SECONDS, f"{faults} faults are told of")
        report = self.report()
        assert attempts(report) == faults, f"{attempts(report)} faults instead of {faults}: {report}"
        assert all(one["outcome"].startswith(outcome) for one in report), report
        return report

    def inject(self, fault: control_pb2.Fault, gpu: int, wait: float = 0.0) -> control_pb2.InjectReply:
        request = control_pb2.InjectRequest(gpu=gpu, fault=fault, wait_ms=int(wait * 1000))
        reply: control_pb2.InjectReply = self._admin("Inject", request, wait + 30)
        return reply

    @contextlib.contextmanager
    def losing(self, loss: tuple[int, int] | None) -> Iterator[None]:
        """The worker of this GPU is killed after so many ops of what is done meanwhile, and has been recovered at the
        end. None: no worker is."""
        before = len(self.report())
        if loss:
            self.inject(control_pb2.Fault(kind="kill-worker", operations=loss[1]), loss[0])
        yield
        if loss:
            until(lambda: len(self.report()) > before, RECOVERY_SECONDS, "the loss is told of")

    def validate(self, gpu: int, wait: float = 60.0) -> dict[str, Any]:
        request = control_pb2.ValidationRequest(gpu=gpu, wait_ms=int(wait * 1000))
        document: dict[str, Any] = json.loads(self._admin("Validate", request, wait + 30).json)
        return document

    def kill_until_given_up(self, pid: int) -> None:
        """This process's worker, and each that follows it at the first op that it replays, until the job is given up.

        Its session must be the first of GPU 0, and no other program may come to the service afterwards.
        """

        def state() -> str:
            return str(self.status()["gpus"][0]["sessions"][0]["state"])

        [mine, *_] = self.status()["gpus"][0]["sessions"]
        assert mine["pid"] == pid, mine
        for _ in range(LOSSES):
            self.inject(kill_at_op(1), 0)
        os.kill(mine["worker_pid"], signal.SIGKILL)
        until(lambda: state() == "failed", 2 * RECOVERY_SECONDS, "the job is given up")

    def keeper_pid(self) -> int:
        """Its keeper has the socket in its words."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_text().split("\0")
                if "jitc.proxy.keeper" in words and str(self.socket) in words:
                    found.append(int(folder.name))
        [keeper] = found
        return keeper

    def worker_pid(self, gpu: int) -> int | None:
        pid: int | None = self.status()["gpus"][gpu]["worker_pid"]
        return pid


def kill_at(boundary: int, phase: str = "", skip: int = 0, kind: str = "kill-worker") -> control_pb2.Fault:
    """A fault in the minibatch after this boundary, at the skip-th matching op of the phase."""
    return control_pb2.Fault(kind=kind, boundary=boundary, armed_at_boundary=True, phase=phase, skip=skip)


def kill_at_op(sequence: int, kind: str = "kill-worker") -> control_pb2.Fault:
    return control_pb2.Fault(kind=kind, sequence=sequence)
