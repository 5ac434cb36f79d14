"""Probes of the machine: versions of driver, runtime and NVML, what the kernel allows, contexts, attributes."""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import resource
import sys
import time
from ctypes import byref, c_int
from pathlib import Path
from typing import Any

from .driver import Driver, Refused
from .layout import fix_layout

#: Those that decide how jitc can work here (CUdevice_attribute).
ATTRIBUTES = {
    88: "pageable memory access (HMM)", 91: "host pointer of registered memory is the device's",
    102: "virtual memory management", 110: "RDMA of mapped memory", 122: "64-bit words in streams", 127: "tensor maps",
    99: "host registration", 89: "concurrent managed access", 100: "pageable access by the host's page tables",
}  # fmt: skip
#: CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: 0 where several processes may use the GPU.
_COMPUTE_MODE = 20
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW


def versions(request: dict[str, Any]) -> dict[str, Any]:
    """Raises when there is no GPU: nothing else can be looked at then."""
    driver = Driver(request["driver"])
    begin = time.perf_counter()
    driver("cuInit", 0)
    started, gpus = time.perf_counter() - begin, []
    for ordinal in range(driver.number("cuDeviceGetCount")):
        device = driver.number("cuDeviceGet", ordinal)
        name, size = ctypes.create_string_buffer(256), ctypes.c_size_t()
        driver("cuDeviceGetName", name, len(name), device)
        driver("cuDeviceTotalMem_v2", byref(size), device)
        gpus.append({"name": name.value.decode(errors="replace"), "memory": size.value})
    if not gpus:
        raise Refused("cuDeviceGetCount", 0, "there is no GPU")
    kernel = Path("/proc/driver/nvidia/version")
    return {
        "gpus": gpus, "driver": driver.number("cuDriverGetVersion"), "first_cuinit_seconds": started,
        "kernel_module": kernel.read_text().splitlines()[0] if kernel.exists() else "",
        "runtime": _runtime(request["cudart"]), "nvml": _nvml(),
    }  # fmt: skip


def _runtime(path: str) -> Any:
    try:
        version = c_int()
        ctypes.CDLL(path).cudaRuntimeGetVersion(byref(version))
        return version.value
    except (OSError, AttributeError) as error:
        return str(error)


def _nvml() -> Any:
    """What jitc asks of it and some more; each answer may be a refusal."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception as error:  # the package's own errors cannot be named where it is not there
        return f"{type(error).__name__}: {error}"
    gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
    asked = {
        "driver": pynvml.nvmlSystemGetDriverVersion,
        "nvml": pynvml.nvmlSystemGetNVMLVersion,
        "uuid": lambda: pynvml.nvmlDeviceGetUUID(gpu),
        "memory": lambda: pynvml.nvmlDeviceGetMemoryInfo(gpu).used,
        "event_types": lambda: pynvml.nvmlDeviceGetSupportedEventTypes(gpu),
        "event_set": lambda: bool(pynvml.nvmlEventSetCreate()),
        "persistence": lambda: pynvml.nvmlDeviceGetPersistenceMode(gpu),
        "compute_mode": lambda: pynvml.nvmlDeviceGetComputeMode(gpu),
        "mig": lambda: pynvml.nvmlDeviceGetMigMode(gpu),
        "ecc": lambda: pynvml.nvmlDeviceGetEccMode(gpu),
    }
    return {name: _answer(ask) for name, ask in asked.items()}


def _answer(ask: Any) -> Any:
    try:
        value = ask()
    except Exception as error:  # as above
        return f"{type(error).__name__}: {error}"
    return value.decode() if isinstance(value, bytes) else value


def system(request: dict[str, Any]) -> dict[str, Any]:
    """What jitc needs of the kernel."""
    memory = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines() if ":" in line)
    shared = os.statvfs("/dev/shm") if Path("/dev/shm").exists() else None
    return {
        "kernel": platform.release(), "cpus": len(os.sched_getaffinity(0)),
        "memory_total": memory.get("MemTotal", "").strip(), "memory_available": memory.get("MemAvailable", "").strip(),
        "shm_bytes": shared.f_frsize * shared.f_bavail if shared else 0,
        "locked_memory_limit": resource.getrlimit(resource.RLIMIT_MEMLOCK)[0],
        "open_files_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "sealed_memory_file": tried(_sealed_memory), "pidfd": tried(lambda: os.close(os.pidfd_open(os.getpid()))),
        "fixed_layout": tried(fix_layout), "user": os.getuid(),
        "library_path": os.environ.get("LD_LIBRARY_PATH", ""),
    }  # fmt: skip


def tried(act: Any) -> str:
    """Whether the kernel allows it."""
    try:
        act()
    except OSError as error:
        return str(error)
    return "works"


def _sealed_memory() -> None:
    descriptor = os.memfd_create("gpu-check", os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, 1 << 20)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    os.close(os.open(f"/proc/{os.getpid()}/fd/{descriptor}", os.O_RDWR))
    os.close(descriptor)


def context(request: dict[str, Any]) -> dict[str, Any]:
    """How long it takes to get one, and what it takes of the GPU's memory and of the host's."""
    driver, marks = Driver(request["driver"]), [time.perf_counter()]
    driver("cuInit", 0)
    marks.append(time.perf_counter())
    device = driver.number("cuDeviceGet", 0)
    before = _answer_used()
    driver("cuCtxSetCurrent", driver.handle("cuDevicePrimaryCtxRetain", device))
    marks.append(time.perf_counter())
    free, total = driver.memory()
    return {
        "cuinit_seconds": marks[1] - marks[0], "context_seconds": marks[2] - marks[1], "free": free, "total": total,
        "nvml_used_before": before, "nvml_used_after": _answer_used(),
        "host_peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }  # fmt: skip


def held_context(request: dict[str, Any]) -> dict[str, Any]:
    """A part: holds one until nobody wants it any more. A GPU that takes one process only is left alone."""
    driver = Driver(request["driver"])
    driver("cuInit", 0)
    mode = driver.number("cuDeviceGetAttribute", _COMPUTE_MODE, driver.number("cuDeviceGet", 0))
    if mode:
        raise ValueError(f"the GPU's compute mode is {mode}: it does not take several processes")
    driver.context()
    print("the context is held", file=request["answers"], flush=True)
    sys.stdin.readline()
    return {}


def _answer_used() -> Any:
    try:
        import pynvml

        pynvml.nvmlInit()
        return pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).used
    except Exception as error:  # as above
        return str(error)


def attributes(request: dict[str, Any]) -> dict[str, Any]:
    driver = Driver(request["driver"])
    driver("cuInit", 0)
    device, value = driver.number("cuDeviceGet", 0), c_int()
    found: dict[str, Any] = {}
    for number, meaning in sorted(ATTRIBUTES.items()):
        code = driver.status("cuDeviceGetAttribute", byref(value), number, device)
        found[str(number)] = {"meaning": meaning, "value": f"error {code}" if code else value.value}
    return found
