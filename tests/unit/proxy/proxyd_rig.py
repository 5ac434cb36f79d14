"""Real services in processes of their own, one after the other on one socket; two ranks in the test's process.

Called by: tests in which a service is killed or replaced under a job. A service that is to die kills itself at a record
of its log (dying_proxyd.py); another is started then.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import grpc
import pytest
from client_rig import RealClient, check, together, train
from toolkit.waiting import until

from jitc.proxy.common import rpc
from jitc.proxy.keeper.peer import peer_of
from jitc.v1 import control_pb2

OPTIONS = ("--device", "software", "--gpus", "2", "--threads", "1", "--spares", "2", "--copies-limit", "1GiB")
PLAIN = [sys.executable, "-m", "jitc.proxy.commands.proxyd"]
STEPS = 4
#: Records of a run, from the service's start to the end of the sessions, at the least.
RECORDS = 42
DYING = [sys.executable, str(Path(__file__).with_name("dying_proxyd.py"))]


class Proxyd:
    """Services on one socket, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.config = type("Config", (), {"socket": str(folder / "s")})()
        self.log = folder / "log"
        self.processes: list[subprocess.Popen[str]] = []
        self.died = threading.Event()
        self.follower: threading.Thread | None = None
        self.serving: subprocess.Popen[str] | None = None  # if it is not the newest

    def start(self, command: list[str], *options: str) -> subprocess.Popen[str]:
        words = [*command, "--socket", self.config.socket, *OPTIONS, *options]
        with self.log.open("a") as log:
            process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
        self.processes.append(process)
        return process

    def ready(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("jitc-proxyd ready"), self.log.read_text()

    def begin(self, *before: str) -> tuple[subprocess.Popen[str], list[RealClient]]:
        """A service, and two ranks that it serves. before: words before its command."""
        process = self.start([*before, *PLAIN])
        self.ready(process)
        return process, self.begun()

    def begun(self) -> list[RealClient]:
        """Two ranks, served by whatever service there is."""
        return together(self)  # type: ignore[arg-type]

    def keeper(self) -> int:
        """The process of the keeper."""

        def found() -> str:
            words = ["pgrep", "-f", f"jitc.proxy.keeper --socket {self.config.socket} "]
            return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()

        return int(until(found, 30, "there is a keeper"))

    def follow(self, process: subprocess.Popen[str]) -> None:
        """Starts another one when this one has been killed."""

        def wait() -> None:
            if process.wait() == -signal.SIGKILL:
                self.died.set()
                self.start(PLAIN)

        self.follower = threading.Thread(target=wait)
        self.follower.start()

    def recoveries(self) -> list[dict[str, Any]]:
        """Those of a service that dies while it is asked are told by the next one."""

        def asked() -> list[dict[str, Any]] | None:
            try:
                with rpc.channel(self.config.socket) as link:
                    reply = rpc.admin(link).Report(control_pb2.ReportRequest(), timeout=30, wait_for_ready=True)
            except grpc.RpcError as error:
                assert rpc.status_of(error)[0] is grpc.StatusCode.UNAVAILABLE, error
                return None
            return list(json.loads(reply.json)["recoveries"])

        return until(asked, 60, "a service tells of its recoveries")

    def counted(self) -> list[int]:
        """Recoveries of each GPU, as the status has them."""
        return [gpu["recoveries"] for gpu in self._gpus()]

    def states(self) -> list[str]:
        """Of all sessions."""
        return [session["state"] for gpu in self._gpus() for session in gpu["sessions"]]

    def _gpus(self) -> list[dict[str, Any]]:
        with rpc.channel(self.config.socket) as link:
            reply = rpc.admin(link).Status(control_pb2.StatusRequest(), timeout=30, wait_for_ready=True)
        return list(json.loads(reply.json)["gpus"])

    def stop(self) -> None:
        if self.follower is not None and self.died.is_set():
            self.follower.join(60)
            self.ready(self.processes[-1])  # before that a signal would end it at once
        last = self.serving or self.processes[-1]
        os.kill(inner(last), signal.SIGTERM)
        until(lambda: last.poll() is not None, 60, f"it ends:\n{self.log.read_text()}")
        assert last.returncode == 0, self.log.read_text()
        if self.follower is not None:
            self.follower.join(60)
        for one in self.processes:
            assert one.poll() is not None
            assert one.stdout is not None
            one.stdout.close()


def at_records(quick: set[int]) -> list[Any]:
    """Parameters `count` and `when` of a test that is run at each record; quick: those that are not slow."""
    return [
        pytest.param(count, when, marks=() if count in quick and when == "after" else pytest.mark.slow)
        for count in range(1, RECORDS + 1)
        for when in ("before", "after")
    ]


def trains_through_a_loss(proxyd: Proxyd) -> None:
    """Two ranks begin, train, lose a worker and train on, and end with what they should have."""
    ranks = together(proxyd)  # type: ignore[arg-type]
    train(ranks, 2)
    check(ranks, 2)
    os.kill(worker_of(ranks[1]), signal.SIGKILL)
    train(ranks, STEPS - 2)
    check(ranks, STEPS)
    assert all(one["outcome"] == "recovered" for one in proxyd.recoveries()), proxyd.recoveries()
    close(ranks)


def inner(process: subprocess.Popen[str]) -> int:
    """The service's process, also where another program has started it in a namespace of its own."""
    if Path(f"/proc/{process.pid}/comm").read_text().strip() != "unshare":
        return process.pid
    return int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])


def worker_of(client: RealClient) -> int:
    """The process that serves it, as the kernel has it."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(client.reply.worker_socket)
        return peer_of(connection).pid


def close(ranks: list[RealClient]) -> None:
    for client in ranks:
        client.close()
