"""Assigns a GPU a worker, from the warm spares.

Called by: the Node service (a program attaches), recoveries (a worker was lost), idle.py. Promises: returns a worker
that serves the GPU and belongs to the caller; otherwise NoWorker says why, and the GPU's state shows it. The worker's
libraries are opened in the environment that the program wants. A GPU gets no worker while a former one is ending.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import grpc

from jitc.v1 import worker_pb2

from ...ranks.rank import KILLED_SECONDS, NoWorker, Rank
from .. import descriptors
from ..gpus import Gpu
from ..library_environment import needs_own_worker
from ..registry import Registry
from ..session import Session
from .supervisor import NotYet, Supervisor
from .worker import Worker

#: Time for a spare to be started, and for it to open the device.
SPARE_SECONDS, ASSIGN_SECONDS = 60.0, 60.0
#: Spares that may be lost or silent, one after the other, before the GPU counts as failed.
TRIES = 4
_LOST = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


#: Variables of a program, for the libraries (library_environment.py).
Variables = Mapping[str, str]
_NONE: Variables = {}


def assign_request(registry: Registry, gpu: Gpu, guest: int = 0, variables: Variables = _NONE) -> Any:
    """Returns the request that makes a spare the worker of a GPU; guest: the session for which it shares the GPU."""
    config, assignment = registry.config, registry.backend.assignment(gpu.index, guest)
    return worker_pb2.AssignRequest(
        gpu=gpu.index, device=config.device, memory_limit=assignment.memory_limit, threads=assignment.threads,
        ordinal=assignment.ordinal, libraries=dict(assignment.libraries), images=str(config.images_directory()),
        options=config.for_workers(), environment={**variables, **assignment.environment},
    )  # fmt: skip


def assign_worker(
    registry: Registry, supervisor: Supervisor, gpu: Gpu, seconds: float = SPARE_SECONDS, *,
    guest: int = 0, variables: Variables = _NONE, ends: float = KILLED_SECONDS,
) -> Worker:  # fmt: skip
    """Returns the idle worker of the GPU, else a spare. Raises NoWorker; NotYet when a spare is still being started, or
    a former worker has not ended within `ends` seconds."""
    if not guest and needs_own_worker(variables):
        _end_idle(registry, gpu)
    supervisor.await_former(gpu.index, ends)
    with registry.changed:
        idle = gpu.take_idle() if not guest else None
    try:
        worker = idle or _assigned(registry, supervisor, gpu, seconds, guest=guest, variables=variables)
    except NotYet:
        raise
    except NoWorker as error:
        with registry.changed:
            gpu.failure, gpu.failed_at = str(error), time.monotonic()
            registry.changed.notify_all()
        raise
    with registry.changed:
        gpu.failure = ""
        registry.changed.notify_all()
    return worker


def _assigned(
    registry: Registry, supervisor: Supervisor, gpu: Gpu, seconds: float, *, guest: int, variables: Variables
) -> Worker:
    request, why = assign_request(registry, gpu, guest, variables), ""
    deadline = time.monotonic() + seconds
    for _ in range(TRIES):
        if gpu.lost:
            raise NoWorker(f"GPU {gpu.index} is lost: {gpu.lost}")
        if not descriptors.wait_for_some(max(0.0, deadline - time.monotonic())):
            raise NotYet(f"jitc-proxyd has no descriptors left (ulimit -n {descriptors.limit()})")
        worker = supervisor.take(max(0.0, deadline - time.monotonic()))
        worker.gpu = gpu.index
        failure = worker.ask("Assign", request, ASSIGN_SECONDS).exception()
        if failure is None:
            return worker
        why = failure.details()
        refused = worker.alive() and failure.code() not in _LOST
        worker.kill()
        if refused:
            break
        supervisor.await_former(gpu.index, KILLED_SECONDS)
    raise NoWorker(f"a worker cannot serve GPU {gpu.index}: {why}")


def _end_idle(registry: Registry, gpu: Gpu) -> None:
    """Ends an idle worker whose libraries have another environment than the program wants: it holds GPU memory."""
    with registry.changed:
        idle = gpu.take_idle()
    if idle is not None:
        idle.kill()


class Replacements:
    """The replacement of lost workers for sessions of this node (../../ranks/rank.py)."""

    def __init__(self, registry: Registry, supervisor: Supervisor) -> None:
        self._registry, self._supervisor = registry, supervisor

    def replace(self, one: Rank, notes: list[str], wanted: Callable[[], None]) -> None:
        """Replaces the worker. Raises NoWorker, and what wanted raises."""
        session = _own(one)
        worker = _worker_for(self._registry, self._supervisor, session, notes)
        try:
            with self._registry.changed:
                wanted()
                session.worker = worker
        except BaseException:
            worker.kill()
            raise


def _own(one: Rank) -> Session:
    assert isinstance(one, Session), "a rank of another node"
    return one


def _worker_for(registry: Registry, supervisor: Supervisor, session: Session, notes: list[str]) -> Worker:
    """Returns a worker on the session's GPU, or on another while that is lost (notes get a line). Raises NoWorker."""
    gpu, shared = registry.place(session)
    if gpu is None:
        raise NoWorker(f"no GPU is left that could serve {session.label()}")
    guest = session.number if shared else 0
    worker = assign_worker(registry, supervisor, gpu, guest=guest, variables=session.environment)
    if gpu.index != session.host:
        home = "" if gpu.index == session.gpu else f"; its own, GPU {session.gpu}, is lost"
        notes.append(f"{session.label()} moves from GPU {session.host} to GPU {gpu.index}{home}")
        print(f"jitc-proxyd: {notes[-1]}", file=sys.stderr, flush=True)
    with registry.changed:
        session.host = gpu.index
    return worker
