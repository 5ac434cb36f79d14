"""`kill -9` of workers: of all that are there, and by the clock while a job runs.

Called by: tests whose faults must not depend on what the product counts; tests/soak. Promises: how often a worker was
killed by the clock, and which, follows from the test alone; only where in the job it was is left to the machine.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from collections.abc import Iterator
from typing import Any

import grpc

from jitc.v1 import control_pb2

from .service import RECOVERY_SECONDS, Service
from .waiting import until

#: Until the next kill, from when the job has got on after the one before: several iterations of a small job.
LATEST_SECONDS = 0.1
#: Iterations behind a kill before its recovery is told of. A job that reads nothing from the GPU would go far ahead.
MOST_AHEAD = 10


def sessions(service: Service) -> list[dict[str, Any]]:
    return [one for gpu in service.status()["gpus"] for one in gpu["sessions"]]


def workers(service: Service) -> list[int]:
    return [one["worker_pid"] for one in sessions(service) if one["worker_pid"]]


def kill(pids: list[int]) -> int:
    """How many there were."""
    killed = 0
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            killed += 1
    return killed


def arm(service: Service, fault: control_pb2.Fault, gpu: int) -> bool:
    """Whether there was a worker that it could be told: another one may be taking its place just now."""
    try:
        service.inject(fault, gpu)
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.FAILED_PRECONDITION:
            raise
        return False
    return True


class Killer:
    """Kills by the clock, each time the worker of the next GPU of these.

    Each kill comes after the recovery of the one before has been told of and the job has got on since: so there is a
    recovery for each, and no op costs one worker after the other.
    """

    def __init__(self, service: Service, gpus: tuple[int, ...], seed: int) -> None:
        self._service, self._gpus, self._random = service, gpus, random.Random(seed)
        self._gets_on, self._told, self._ended = threading.Event(), threading.Event(), threading.Event()
        self._told.set()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._gets_on.set()
        self._thread.join()

    def rounds(self) -> Iterator[int]:
        """The numbers of what the job does, until all kills are recovered, and of one more."""
        number = ahead = 0
        while self._thread.is_alive():
            yield number
            number += 1
            ahead = 0 if self._told.is_set() else ahead + 1
            if ahead > MOST_AHEAD:
                self._told.wait()
            self._gets_on.set()
        if self._error:
            raise self._error
        yield number

    def _run(self) -> None:
        try:
            for gpu in self._gpus:
                self._gets_on.clear()
                self._gets_on.wait()
                if self._ended.wait(self._random.uniform(0, LATEST_SECONDS)):
                    return
                self._told.clear()
                self._kill(gpu)
                self._told.set()
        except BaseException as error:  # rounds() raises it
            self._error = error
        finally:
            self._told.set()

    def _kill(self, gpu: int) -> None:
        before = len(self._service.report())
        victim = until(lambda: self._only_worker(gpu), RECOVERY_SECONDS, f"one job is left on GPU {gpu}")
        os.kill(victim, signal.SIGKILL)
        until(
            lambda: self._ended.is_set() or len(self._service.report()) > before,
            RECOVERY_SECONDS,
            f"the kill of worker {victim} of GPU {gpu} is told of",
        )

    def _only_worker(self, gpu: int) -> int | None:
        """The job before may not have gone yet."""
        found = [one["worker_pid"] for one in self._service.status()["gpus"][gpu]["sessions"]]
        return found[0] if len(found) == 1 else None
