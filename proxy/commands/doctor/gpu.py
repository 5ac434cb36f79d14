"""Checks of NVIDIA GPUs: device files, driver, NVML, and the libraries that workers open.

Called by: command.py. Promise: this process never opens the driver or a device; what opens them is a process that ends
within a time limit. The libraries are looked for as the service does (backends/cuda).
"""

from __future__ import annotations

import errno
import functools
import json
import os
import sys
from pathlib import Path
from typing import Any

from ...backends.base import NoDevice
from ...backends.cuda import libraries
from ...common.config import ADDRESS_BASES, LARGE_BYTES
from ..settings.resolve import given
from ..settings.setting import BY_NAME
from . import child
from .check import Check, Context, Finding, bad, good, unknown

#: Loading the driver takes long where no process keeps it loaded (nvidia-persistenced).
_DRIVER_SECONDS = 20.0
_GIVE = "give the container the GPU (docker run --gpus all), or use --device software"
_PACKAGES = {
    "nccl": "nvidia-nccl-cu13 (or -cu12)", "cublas": "nvidia-cublas (or nvidia-cublas-cu12)",
    "cublaslt": "nvidia-cublas (or nvidia-cublas-cu12)", "nvrtc": "nvidia-cuda-nvrtc (or nvidia-cuda-nvrtc-cu12)",
    "cudnn": "nvidia-cudnn-cu13 (or -cu12)",
}  # fmt: skip
_WITHOUT = {
    "nccl": "collectives are refused", "cublas": "cuBLAS calls are refused", "cublaslt": "cuBLASLt calls are refused",
    "nvrtc": "the host hashes device memory, which is slower",
    "cudnn": "cuDNN calls are refused, and PyTorch uses its own kernels",
}  # fmt: skip
_OPEN = """
import errno, os, sys
for path in sys.argv[1:]:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        print(path, errno.errorcode.get(error.errno, error.errno))
"""
_NVML = """
from jitc.proxy.backends.base import NoDevice
from jitc.proxy.backends.cuda import nvml
try:
    print("+" + ", ".join(nvml.physical_gpus().values()))
except NoDevice as error:
    print("-" + str(error))
"""


def files(_: Context, folder: Path = Path("/dev")) -> Finding:
    """Opens the device files in a new process, as a worker does: a container's rules for devices apply to opening."""
    of_gpus = sorted(folder.glob("nvidia[0-9]*"))
    control, memory = folder / "nvidiactl", folder / "nvidia-uvm"
    if not control.exists() and (folder / "dxg").exists():
        return unknown(f"{folder}/dxg is there (WSL), which has not been tried", "use --device software")
    if not control.exists():
        return bad(f"no {control}: there is no NVIDIA driver here, or this container has no GPU", _GIVE)
    if not of_gpus:
        return bad(f"there is no {folder}/nvidia0: the driver has no GPU here", f"see `nvidia-smi -L`; {_GIVE}")
    if not memory.exists():
        return unknown(
            f"there is no {memory} yet; the driver makes it at its first use, if it may", "nvidia-modprobe -u -c 0"
        )
    return _opened([control, memory, *of_gpus])


def _opened(paths: list[Path]) -> Finding:
    done = child.ran_python(_OPEN, *map(str, paths))
    if refused := done.output.splitlines():
        return bad(f"a new process cannot open {'; '.join(refused)}", f"{_advice(refused[0])}; or {_GIVE}")
    if done.status:
        return unknown(f"a process that opens the device files ended: {done.why()}", _GIVE)
    return good(f"a new process can open {', '.join(one.name for one in paths)}")


def _advice(refused: str) -> str:
    if refused.endswith(errno.errorcode[errno.EPERM]):
        return "the container's rules for devices forbid it (after systemctl daemon-reload, start it again)"
    return "see the file's permissions, and what `nvidia-smi` says"


def visible(_: Context) -> Finding:
    """Programs of either device apply CUDA_VISIBLE_DEVICES, and the service with --device cuda does."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return good("CUDA_VISIBLE_DEVICES is not set: all GPUs are visible")
    first = named.split(",")[0].strip()
    if not first or first.startswith("-") or not (first.isdecimal() or first.startswith(("GPU-", "MIG-"))):
        return bad(f"CUDA_VISIBLE_DEVICES={named} names no GPU: programs see none", "unset it, or name GPUs: 0,1")
    return good(f"CUDA_VISIBLE_DEVICES={named}")


def nvml(_: Context) -> Finding:
    done = child.ran_python(_NVML)
    found = done.output.strip()
    if found.startswith("+"):
        return good(f"NVML lists {found[1:]}")
    return bad(found[1:] or f"NVML: {done.why()}", "the service does not start with --device cuda without it")


def answer(_: Context) -> dict[str, Any]:
    """Returns what the driver says about its GPUs and the libraries; "error": why there is nothing else. The request is
    that of backends/cuda/backend.py."""
    named = {name: given(BY_NAME[name]) for name in libraries.NAMES}
    try:
        places = {name: libraries.candidates(name, named[name]) for name in libraries.NAMES}
    except NoDevice as error:
        return {"error": str(error)}
    request = {
        "libraries": places,
        "own_lt": bool(named["cublaslt"]), "address_bases": ADDRESS_BASES, "address_bytes": LARGE_BYTES,
    }  # fmt: skip
    words = [sys.executable, "-m", "jitc.proxy.backends.cuda.probe"]
    try:
        done = child.ran(words, json.dumps(request), {"PYTHONSAFEPATH": "1"}, _DRIVER_SECONDS)
    except child.Slow as error:
        return {"slow": str(error)}
    try:
        found: dict[str, Any] = json.loads(done.output)
    except ValueError:
        return {"error": f"asking the CUDA driver failed: {done.why()}"}
    return found


def driver(context: Context) -> Finding:
    found = context.once(answer)
    if "slow" in found:
        return unknown(f"the CUDA driver: {found['slow']}", "see whether `nvidia-smi` answers")
    if "error" in found:
        return bad(found["error"], f"install NVIDIA's driver, and see what `nvidia-smi` says; {_GIVE}")
    version = found["driver"]["version"]
    names = [gpu["name"] for gpu in found["gpus"]]
    text = f"{found['driver']['path']} for CUDA {version // 1000}.{version % 1000 // 10}"
    if not names:
        return bad(f"{text} shows no GPU", "see CUDA_VISIBLE_DEVICES, and what `nvidia-smi -L` says")
    return good(f"{text} shows {len(names)}: {', '.join(names)}")


def addresses(context: Context) -> Finding | None:
    found = context.once(answer).get("addresses")
    if found is None:
        return None  # the driver's check says why
    base = int(found["base"])
    if not base:
        return bad(f"the driver grants sessions no addresses: {'; '.join(found['refused'])}", "raise ulimit -v")
    more = "" if base == ADDRESS_BASES[0] else ", not the usual ones"
    return good(f"the driver grants sessions addresses from {base:#x} on{more}")


def library(name: str, context: Context) -> Finding:
    found = context.once(answer)
    remedy = f"pip install {_PACKAGES[name]}, or jitc-proxyd --{name} PATH"
    if "libraries" not in found:
        first = libraries.candidates(name)[0]
        text = f"{first} is installed" if os.path.isabs(first) else "no package of it is installed"
        return unknown(f"{text}; it can be tried only with a driver", f"see driver above; {remedy}")
    one = found["libraries"][name]
    if one["path"]:
        return good(f"{one['version']} ({one['path']})")
    return bad(f"{_WITHOUT[name]}: {one.get('error') or 'it is not found'}", remedy)


CHECKS = (
    Check("visible GPUs", visible), Check("device files", files, ("cuda",)), Check("nvml", nvml, ("cuda",)),
    Check("driver", driver, ("cuda",)), Check("addresses", addresses, ("cuda",)),
    *(Check(name, functools.partial(library, name), ("cuda",)) for name in _PACKAGES),
)  # fmt: skip
