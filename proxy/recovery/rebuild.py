"""A GPU gets a worker: the first at the service's start, another whenever one is lost.

Called by: the service, recovery runs. Promise: ends with a worker that serves the GPU, or the GPU is marked
as failed with the reason, and NoWorker says it.
"""

from __future__ import annotations

from typing import Any

import grpc

from jitc.v1 import worker_pb2

from ..node.sessions import Gpu, Registry
from ..node.supervisor import NoWorker, Supervisor
from ..node.workers import Worker
from .calls import CALL_SECONDS

SPARE_SECONDS = 60.0
#: Spares in a row that are lost, or silent, when they are wanted.
TRIES = 4
_LOST = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def assign_request(registry: Registry, gpu: Gpu) -> Any:
    """What a spare is told when it becomes the worker of a GPU."""
    config, assignment = registry.config, registry.backend.assignment(gpu.index)
    return worker_pb2.AssignRequest(
        gpu=gpu.index, device=config.device, memory_limit=assignment.memory_limit, threads=assignment.threads,
        ordinal=assignment.ordinal, driver=assignment.driver, nccl=assignment.nccl, cublas=assignment.cublas,
        cublaslt=assignment.cublaslt, nvrtc=assignment.nvrtc, cudnn=assignment.cudnn,
        images=str(config.images_directory()), images_limit=config.images_limit, hang_seconds=config.hang_seconds,
        environment=dict(assignment.environment),
    )  # fmt: skip


def rebuild_gpu(registry: Registry, supervisor: Supervisor, gpu: Gpu) -> None:
    """Gives the GPU a worker from the spares. Raises NoWorker, then the GPU has failed."""
    if gpu.worker is not None and gpu.worker.alive():
        return
    try:
        worker = _serving(registry, supervisor, gpu)
    except NoWorker as error:
        with registry.changed:
            gpu.state, gpu.failure = "failed", str(error)
            registry.changed.notify_all()
        raise
    with registry.changed:
        worker.gpu, gpu.worker = gpu.index, worker
        registry.changed.notify_all()


def _serving(registry: Registry, supervisor: Supervisor, gpu: Gpu) -> Worker:
    request, why = assign_request(registry, gpu), ""
    for _ in range(TRIES):
        if gpu.lost:
            raise NoWorker(f"GPU {gpu.index} is lost: {gpu.lost}")
        worker = supervisor.take(SPARE_SECONDS)
        failure = worker.stub.Assign.future(request, timeout=CALL_SECONDS).exception()
        if failure is None:
            return worker
        why = failure.details()
        refused = worker.alive() and failure.code() not in _LOST
        worker.kill()
        if refused:
            break
    raise NoWorker(f"a worker cannot serve GPU {gpu.index}: {why}")
