"""Where NVIDIA's libraries lie, as far as the check opens them itself: below jitc, and in programs without the proxy.

Called by: preflight, steps. Promise: a path that the service was given is taken here too; else the wheel's, which
PyTorch uses; else what the system's loader finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

_WHEELS = {
    "cublas": ("cu13/lib/libcublas.so.13", "cublas/lib/libcublas.so.12"),
    "nccl": ("nccl/lib/libnccl.so.2",),
    "cudart": ("cu13/lib/libcudart.so.13", "cuda_runtime/lib/libcudart.so.12"),
}
_SYSTEM = {
    "driver": "libcuda.so.1", "nccl": "libnccl.so.2", "cublas": "libcublas.so.13", "cudart": "libcudart.so.13",
}  # fmt: skip
NAMES = tuple(_SYSTEM)


def path(name: str, options: Sequence[str] = ()) -> str:
    """options: of jitc-proxyd, "--nccl", PATH or "--nccl=PATH"."""
    flag = f"--{name}"
    for at, word in enumerate(options):
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
        if word == flag and at + 1 < len(options):
            return options[at + 1]
    spec = find_spec("nvidia")
    folders = [Path(one) for one in spec.submodule_search_locations or []] if spec is not None else []
    there = (folder / one for folder in folders for one in _WHEELS.get(name, ()) if (folder / one).exists())
    return str(next(there, _SYSTEM[name]))


def paths(options: Sequence[str] = ()) -> dict[str, str]:
    return {name: path(name, options) for name in NAMES}
