"""Candidate paths of libcuda and NVIDIA's other libraries, best first, without importing PyTorch.

Called by: backend.py; probe.py then finds out which of them are usable, in a process of its own. A path named on the
command line is the only candidate. Otherwise the nvidia.* wheels on the import path come first (the very files that
PyTorch uses, so that results are the same), then the system's loader. Promise: nothing is opened here.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from ..base import NoDevice

#: Paths below the folder of the `nvidia` packages. CUDA 13 wheels share one folder, those of CUDA 12 have one each.
_WHEELS = {
    "driver": (),
    "nccl": ("nccl/lib/libnccl.so.2",),
    "cublas": ("cu13/lib/libcublas.so.13", "cublas/lib/libcublas.so.12"),
    "cublaslt": ("cu13/lib/libcublasLt.so.13", "cublas/lib/libcublasLt.so.12"),
    "nvrtc": ("cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.12"),
    "cudnn": ("cudnn/lib/libcudnn.so.9",),
}
_SYSTEM = {
    "driver": ("libcuda.so.1",),
    "nccl": ("libnccl.so.2",),
    "cublas": ("libcublas.so.13", "libcublas.so.12"),
    "cublaslt": ("libcublasLt.so.13", "libcublasLt.so.12"),
    "nvrtc": ("libnvrtc.so.13", "libnvrtc.so.12"),
    "cudnn": ("libcudnn.so.9",),
}
NAMES = tuple(_WHEELS)


def candidates(name: str, explicit: str = "") -> list[str]:
    """Returns paths, or names for the loader, in the order to try them. Raises NoDevice if a named file is missing."""
    if explicit:
        if not os.path.exists(explicit):
            raise NoDevice(f"--{name} {explicit}: there is no such file")
        return [os.path.abspath(explicit)]
    found = [str(path) for folder in _folders() for one in _WHEELS[name] if (path := folder / one).exists()]
    return [*found, *_SYSTEM[name]]


def sibling(cublas: str) -> list[str]:
    """Returns the libcublasLt beside this libcublas: the two belong together. Empty if its place is not known."""
    path = Path(cublas)
    if not path.is_absolute():
        return []
    beside = path.with_name(path.name.replace("libcublas", "libcublasLt"))
    return [str(beside)] if beside != path and beside.exists() else []


def fits(path: str, driver_version: int) -> bool:
    """Returns whether a library of this CUDA major version runs on a driver of this version (12080: CUDA 12.8)."""
    major = path.rpartition(".so.")[2].partition(".")[0]
    if not any(name in Path(path).name for name in ("cublas", "nvrtc")) or not major.isdecimal():
        return True
    return int(major) <= driver_version // 1000


def _folders() -> list[Path]:
    spec = find_spec("nvidia")
    return [Path(one) for one in spec.submodule_search_locations or []] if spec is not None else []
