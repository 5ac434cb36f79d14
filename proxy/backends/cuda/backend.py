"""NVIDIA GPUs: discovery, libraries, the assignment of each worker, health.

Called by: backends.open_backend. The driver decides which GPUs are visible (CUDA_VISIBLE_DEVICES in all its forms);
NVML lists the physical ones and watches them. With --workers-per-gpu K each physical GPU becomes K virtual ones, each
with a worker and a share of the memory. Promises: the first virtual GPU of every physical one comes first, so that a
job with fewer ranks than virtual GPUs gets physical GPUs of its own; a library that is missing is named at the start.
"""

from __future__ import annotations

import hashlib
import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base import Assignment, GpuFacts, HealthEvent, HealthWatch, NoDevice
from . import libraries, nvml, probe

if TYPE_CHECKING:
    from ...common.config import Config

_MULTIPROCESSORS, _MAJOR, _MINOR = 16, 75, 76  # CUdevice_attribute
#: The part of a worker's share that is left for communicators of NCCL and kernels that libraries load, and the most
#: bytes that it may be.
LIBRARIES_PART, LIBRARIES_BYTES = 32, 512 << 20
#: The features that are missing without a library, and the wheels that provide it.
_WITHOUT = {
    "nccl": "refused: collectives (pip install nvidia-nccl-cu13 or nvidia-nccl-cu12, or --nccl PATH)",
    "cublas": "refused: cuBLAS calls (pip install nvidia-cublas or nvidia-cublas-cu12, or --cublas PATH)",
    "cublaslt": "refused: cuBLASLt calls (it comes with cuBLAS; --cublaslt PATH)",
    "nvrtc": "hashed by the host, slower: device memory (pip install nvidia-cuda-nvrtc or nvidia-cuda-nvrtc-cu12, "
    "or --nvrtc PATH)",
    "cudnn": "refused: cuDNN calls, PyTorch takes its own kernels (pip install nvidia-cudnn-cu13 or nvidia-cudnn-cu12, "
    "or --cudnn PATH)",
}


class CudaBackend:
    """The back end for NVIDIA GPUs."""

    device = "cuda"

    def __init__(self, config: Config) -> None:
        self._physical = nvml.physical_gpus()
        named = config.libraries
        paths = {name: libraries.candidates(name, named.get(name, "")) for name in libraries.NAMES}
        answer = probe.ask(
            {
                "libraries": paths, "own_lt": "cublaslt" in named,
                "address_bases": config.address_bases, "address_bytes": config.address_bytes,
                "measure": config.workers_per_gpu > 1 and config.worker_overhead is None,
            }
        )  # fmt: skip
        self._seen = _chosen(answer, len(self._physical), config.gpus)
        self.address_base = _address_base(answer["addresses"], config.address_bases[0])
        self._driver: Mapping[str, Any] = answer["driver"]
        self._libraries: Mapping[str, Mapping[str, Any]] = answer["libraries"]
        _check_libraries(self._libraries, named)
        self._share, self._limit = config.workers_per_gpu, config.memory_limit
        known = config.worker_overhead
        # Contexts cost the same on equal GPUs; where others use one, its figure is too high.
        measured = (int(gpu["taken"]) for gpu in self._seen if "taken" in gpu)
        self.worker_overhead = min(measured, default=0) if known is None else known
        self.gpus = [
            _facts(gpu, number, part, memory=self._memory(gpu), cudnn=bool(self._libraries["cudnn"]["path"]))
            for part in range(self._share)
            for number, gpu in enumerate(self._seen)
        ]

    def assignment(self, index: int, guest: int = 0) -> Assignment:
        gpu = self.gpus[index]
        environment = {"CUDA_VISIBLE_DEVICES": self._visible_name(gpu.physical)}
        if self._share > 1:
            environment["NCCL_HOSTID"] = f"{host_identity()}-{index // len(self._seen)}"
        if guest:
            environment["NCCL_HOSTID"] = f"{host_identity()}-guest-{guest}"
        return Assignment(
            memory_limit=gpu.memory_total,
            threads=1,
            ordinal=0,
            libraries=self._opened(),
            environment=environment,
        )

    def _opened(self) -> dict[str, str]:
        found = {"driver": self._driver} | dict(self._libraries)
        return {name: one["path"] for name, one in found.items() if one["path"]}

    def versions(self) -> dict[str, int]:
        """Returns the versions of the driver and the libraries, as they report them."""
        return {"driver": self._driver["version"]} | {name: one["version"] for name, one in self._libraries.items()}

    def watch(self, report: Callable[[HealthEvent], None]) -> HealthWatch | None:
        names = {self._visible_name(number): number for number in range(len(self._seen))}
        return nvml.NvmlWatch({name: number for name, number in names.items() if name in self._physical}, report)

    def _memory(self, gpu: Mapping[str, Any]) -> int:
        """Returns a worker's share, less the contexts, NCCL and cuBLAS of workers that share the GPU."""
        share = int(gpu["memory"]) // self._share
        if self._share > 1:
            share = max(share - self.worker_overhead - min(share // LIBRARIES_PART, LIBRARIES_BYTES), share // 2)
            share = share // probe.ALIGNMENT * probe.ALIGNMENT
        return min(share, self._limit) if self._limit else share

    def _visible_name(self, physical: int) -> str:
        """Returns the GPU's name for CUDA_VISIBLE_DEVICES. A part of a GPU (MIG) is not among NVML's physical GPUs."""
        uuid = dashed(self._seen[physical]["uuid"])
        return f"GPU-{uuid}" if f"GPU-{uuid}" in self._physical else f"MIG-{uuid}"


def dashed(uuid: str) -> str:
    """Returns 32 hex digits as a UUID with dashes."""
    return "-".join((uuid[:8], uuid[8:12], uuid[12:16], uuid[16:20], uuid[20:]))


def host_identity() -> str:
    """Returns the host identity of this node for NCCL. A number is added for each worker on one GPU, since NCCL refuses
    two ranks of a host on one GPU. Workers with the same number still see each other as neighbours."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return (
        os.environ.get("NCCL_HOSTID") or f"{socket.gethostname()}-{boot.read_text().strip() if boot.exists() else ''}"
    )


def _chosen(answer: Mapping[str, Any], physical: int, wanted: int) -> list[Mapping[str, Any]]:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    restricted = f" (CUDA_VISIBLE_DEVICES={visible})" if visible is not None else ""
    if "error" in answer:
        raise NoDevice(f"NVML lists {physical} GPUs, but {answer['error']}{restricted}")
    seen: list[Mapping[str, Any]] = answer["gpus"]
    if not seen:
        raise NoDevice(f"NVML lists {physical} GPUs, but the CUDA driver shows none{restricted}")
    if wanted > len(seen):
        raise NoDevice(f"--gpus {wanted}, but the CUDA driver shows {len(seen)}{restricted}")
    return seen[: wanted or None]


def _address_base(found: Mapping[str, Any], best: int) -> int:
    """Returns where sessions' addresses begin. If the driver grants none, workers report that for each session."""
    base = int(found["base"])
    if base == best:
        return base
    where = f"begin at {base:#x} ({found['bytes'] >> 30} GiB each)" if base else "will be refused"
    print(f"jitc-proxyd: sessions' addresses {where}: {'; '.join(found['refused'])}", file=sys.stderr)
    return base or best


def _check_libraries(found: Mapping[str, Mapping[str, Any]], named: Mapping[str, str]) -> None:
    for name, library in found.items():
        if library["path"]:
            continue
        if name in named:
            raise NoDevice(f"--{name}: {library['error']}")
        print(f"jitc-proxyd: no {name} library, {_WITHOUT[name]}: {library['error']}", file=sys.stderr)


def _facts(gpu: Mapping[str, Any], number: int, part: int, *, memory: int, cudnn: bool) -> GpuFacts:
    attributes = {int(key): int(value) for key, value in gpu["attributes"].items()}
    uuid = str(gpu["uuid"])
    return GpuFacts(
        name=str(gpu["name"]),
        uuid=hashlib.sha256(f"{uuid}:{part}".encode()).hexdigest()[:32] if part else uuid,
        memory_total=memory,
        capability=(attributes.get(_MAJOR, 0), attributes.get(_MINOR, 0)),
        multiprocessors=attributes.get(_MULTIPROCESSORS, 0),
        attributes=attributes,
        physical=number,
        cudnn=cudnn,
    )
