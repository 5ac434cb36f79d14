"""Queries the CUDA driver about the GPUs, in a process that then ends: `python -m jitc.proxy.backends.cuda.probe`.

Called by: backend.py, which starts it (`ask`). A process that has called cuInit holds memory of the driver, cannot be
forked and may hang with a sick GPU; the node service must not be such a process. Promise: a JSON request on standard
input gets a JSON answer on standard output; libraries are opened with ctypes only.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ..base import NoDevice
from .libraries import fits, sibling

#: Time for the probe: without a persistence daemon the driver is loaded first, which takes long with many GPUs.
SECONDS = 180.0
#: The last CUdevice_attribute value that is queried; the driver refuses those that it does not know.
LAST_ATTRIBUTE = 200
_OURS = "jitc_device_kind"
ALIGNMENT = 2 << 20


def ask(request: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Runs the probe. Raises NoDevice with the probe's own message."""
    kept = {name: value for name, value in (environment or os.environ).items() if name != "LD_PRELOAD"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", __spec__.name], input=json.dumps(request), capture_output=True, text=True,
            timeout=SECONDS, env=kept | {"PYTHONSAFEPATH": "1"}, cwd="/", check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise NoDevice(
            f"the CUDA driver did not answer within {SECONDS:.0f} s; see whether `nvidia-smi` does"
        ) from None
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise NoDevice(f"asking the CUDA driver about its GPUs failed: {last}") from None
    return answer


class _Failed(Exception):
    pass


class _Driver:
    """The few functions of the driver that the probe needs."""

    def __init__(self, path: str) -> None:
        self.library = _open(path)
        if hasattr(self.library, _OURS):
            raise _Failed(f"{path} is jitc's own preloaded library; name the real one with --driver PATH")
        self._call("cuInit", 0)
        version = ctypes.c_int()
        self._call("cuDriverGetVersion", ctypes.byref(version))
        self.version = version.value

    def gpus(self) -> list[dict[str, Any]]:
        count = ctypes.c_int()
        self._call("cuDeviceGetCount", ctypes.byref(count))
        return [self._gpu(ordinal) for ordinal in range(count.value)]

    def _gpu(self, ordinal: int) -> dict[str, Any]:
        device, memory = ctypes.c_int(), ctypes.c_size_t()
        name, uuid = ctypes.create_string_buffer(256), (ctypes.c_ubyte * 16)()
        self._call("cuDeviceGet", ctypes.byref(device), ordinal)
        self._call("cuDeviceGetName", name, len(name), device)
        self._call("cuDeviceTotalMem_v2", ctypes.byref(memory), device)
        self._call(
            "cuDeviceGetUuid_v2" if hasattr(self.library, "cuDeviceGetUuid_v2") else "cuDeviceGetUuid", uuid, device
        )
        return {
            "name": name.value.decode(errors="replace"), "memory": memory.value, "uuid": bytes(uuid).hex(),
            "attributes": self._attributes(device),
        }  # fmt: skip

    def taken_by_a_context(self, ordinal: int, cublas: str) -> int:
        """Returns the bytes of the GPU's memory that a context and a cuBLAS handle of a process there take, with what
        others use. Raises _Failed, also where the GPU is full."""
        device, context = ctypes.c_int(), ctypes.c_void_p()
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._call("cuDeviceGet", ctypes.byref(device), ordinal)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        try:
            self._call("cuCtxSetCurrent", context)
            if cublas:
                _open(cublas).cublasCreate_v2(ctypes.byref(ctypes.c_void_p()))
            self._call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        finally:
            self.library.cuDevicePrimaryCtxRelease_v2(device)  # with all that is in it
        return total.value - free.value

    def _attributes(self, device: ctypes.c_int) -> dict[str, int]:
        found, value = {}, ctypes.c_int()
        for number in range(1, LAST_ATTRIBUTE + 1):
            if self.library.cuDeviceGetAttribute(ctypes.byref(value), number, device) == 0:
                found[str(number)] = value.value
        return found

    def address_base(self, bases: Sequence[int], sizes: Sequence[int]) -> dict[str, Any]:
        """Returns the first base at which the driver grants addresses, for the first of the sizes that it grants.

        base 0: at none; refused says what the driver did instead. No context is made: reserving addresses needs none.
        """
        refused: list[str] = []
        for size in sizes:
            for base in bases:
                if not (why := self._refuses(base, size)):
                    return {"base": base, "bytes": size, "refused": refused}
                refused.append(f"{size >> 30} GiB at {base:#x}: {why}")
        return {"base": 0, "bytes": 0, "refused": refused}

    def _refuses(self, base: int, size: int) -> str:
        got, zero = ctypes.c_uint64(), ctypes.c_uint64(0)
        arguments = ctypes.c_size_t(size), ctypes.c_size_t(ALIGNMENT), ctypes.c_uint64(base), zero
        try:
            self._call("cuMemAddressReserve", ctypes.byref(got), *arguments)
        except (_Failed, AttributeError) as error:
            return str(error)
        self.library.cuMemAddressFree(got, ctypes.c_size_t(size))
        return "" if got.value == base else f"the driver gave {got.value:#x}"

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self.library, name)(*arguments)
        if code:
            raise _Failed(f"{name} of the CUDA driver failed with error {code} ({self._text(code)})")

    def _text(self, code: int) -> str:
        text = ctypes.c_char_p()
        known = self.library.cuGetErrorName(code, ctypes.byref(text)) == 0 and text.value
        return text.value.decode() if known and text.value else "unknown"


def _open(path: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise _Failed(f"{path} cannot be opened: {error}") from None


class _Info(ctypes.Structure):
    _fields_ = [
        ("fname", ctypes.c_char_p), ("fbase", ctypes.c_void_p), ("sname", ctypes.c_char_p), ("saddr", ctypes.c_void_p)
    ]  # fmt: skip


def _file(path: str, function: Any) -> str:
    """Returns the file that the loader chose for a name: the worker must open the same one."""
    info = _Info()
    if not ctypes.CDLL(None).dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(info)) or not info.fname:
        return path
    found: str = info.fname.decode()
    return os.path.realpath(found) if os.path.isabs(found) else path


def _version(name: str, library: ctypes.CDLL) -> int:
    if name == "nccl":
        value = ctypes.c_int()
        library.ncclGetVersion(ctypes.byref(value))
        return value.value
    if name == "cublaslt":
        return _number(library.cublasLtGetVersion)
    if name == "cudnn":
        return _number(library.cudnnGetVersion)
    if name == "nvrtc":
        major, minor = ctypes.c_int(), ctypes.c_int()
        library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        return major.value * 1000 + minor.value * 10
    part, version = ctypes.c_int(), 0
    for kind, weight in enumerate((10000, 100, 1)):
        library.cublasGetProperty(kind, ctypes.byref(part))
        version += part.value * weight
    return version


def _number(function: Any) -> int:
    function.restype = ctypes.c_size_t
    return int(function())


_ANCHORS = {
    "nccl": "ncclGetVersion", "cublas": "cublasGetProperty", "cublaslt": "cublasLtGetVersion", "nvrtc": "nvrtcVersion",
    "cudnn": "cudnnGetVersion",
}  # fmt: skip


def _library(name: str, paths: list[str], driver_version: int) -> dict[str, Any]:
    """Returns the first library that opens, or why none does."""
    refused = []
    for path in paths:
        try:
            _check_age(fits(path, driver_version), path, driver_version)
            library = _open(path)
            _check_age(name != "cudnn" or _cuda_major(library) <= driver_version // 1000, path, driver_version)
            return {"path": _file(path, getattr(library, _ANCHORS[name])), "version": _version(name, library)}
        except (_Failed, AttributeError) as error:
            refused.append(str(error))
    return {"path": "", "version": 0, "error": "; ".join(refused)}


def _check_age(good: bool, path: str, driver_version: int) -> None:
    if not good:
        raise _Failed(f"{path} is newer than the driver (CUDA {driver_version // 1000})")


def _cuda_major(cudnn: ctypes.CDLL) -> int:
    """Returns cuDNN's major CUDA version: the name libcudnn.so.9 is that for CUDA 12 and for CUDA 13 alike."""
    return _number(cudnn.cudnnGetCudartVersion) // 1000


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    paths: Mapping[str, list[str]] = request["libraries"]
    driver = _Driver(paths["driver"][0])
    found = {name: _library(name, paths[name], driver.version) for name in ("nccl", "cublas", "nvrtc", "cudnn")}
    beside = sibling(found["cublas"]["path"])
    found["cublaslt"] = _library(
        "cublaslt", paths["cublaslt"] if request["own_lt"] else beside or paths["cublaslt"], driver.version
    )
    path, gpus = _file(paths["driver"][0], driver.library.cuInit), driver.gpus()
    sizes = [request["address_bytes"], 2 * max((gpu["memory"] for gpu in gpus), default=0)]
    if request.get("measure"):
        for ordinal, gpu in enumerate(gpus):
            with contextlib.suppress(_Failed):
                gpu["taken"] = driver.taken_by_a_context(ordinal, found["cublas"]["path"])
    return {
        "driver": {"path": path, "version": driver.version}, "gpus": gpus, "libraries": found,
        "addresses": driver.address_base(request["address_bases"], [size // ALIGNMENT * ALIGNMENT for size in sizes]),
    }  # fmt: skip


def main() -> int:
    try:
        answer = _answer(json.load(sys.stdin))
    except _Failed as error:
        answer = {"error": str(error)}
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
