"""Facts about this machine, as a text. Called by: collect.py. Promise: a fact that cannot be had is a line that says
why, and costs none of the others."""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ...common import control_groups
from .part import PART_BYTES, Missing, collected, end_of, output_of
from .processes import PROC

#: Seconds for nvidia-smi, which waits for the driver.
DRIVER_SECONDS = 20.0
_MEMORY = ("MemTotal", "MemAvailable", "SwapTotal", "SwapFree", "Shmem", "CommitLimit", "Committed_AS", "Hugepagesize")
#: Files with limits of a control group, of both kinds.
_GROUP_FILES = (
    "memory.max", "memory.high", "memory.current", "memory.swap.max", "memory.limit_in_bytes", "memory.usage_in_bytes",
    "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpuset.cpus.effective", "pids.max", "pids.current",
)  # fmt: skip
_RESOURCES = ("NOFILE", "NPROC", "MEMLOCK", "AS", "CORE", "STACK")


def text() -> str:
    """Returns all facts, each below its title."""
    facts: dict[str, Callable[[], str]] = {
        "system": _system, "processors": _processors, "memory": _memory, "control groups": _groups, "limits": _limits,
        "NVIDIA's driver": _driver, "nvidia-smi": _nvidia_smi,
    }  # fmt: skip
    found = {title: collected(title, make).data.decode("utf-8", "backslashreplace") for title, make in facts.items()}
    return "\n".join(f"== {title} ==\n{content.rstrip()}\n" for title, content in found.items())


def _system() -> str:
    lines = [" ".join(platform.uname()).strip()]
    with suppress(OSError):
        lines += Path("/etc/os-release").read_text(errors="replace").splitlines()
    lines.append(f"C library: {os.confstr('CS_GNU_LIBC_VERSION') or 'not glibc'}")
    lines.append(f"Python: {sys.version}".replace("\n", " "))
    lines.append(f"executable: {sys.executable}")
    return "\n".join(lines)


def _processors() -> str:
    names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(errors="replace"), re.MULTILINE)
    usable = len(os.sched_getaffinity(0))
    return f"{os.cpu_count()} processors, of which this process may use {usable}: {', '.join(sorted(set(names)))}"


def _memory() -> str:
    lines = Path("/proc/meminfo").read_text().splitlines()
    lines = [one for one in lines if one.split(":")[0] in _MEMORY]
    lines.append(f"overcommit_memory: {Path('/proc/sys/vm/overcommit_memory').read_text().strip()}")
    with suppress(OSError):
        room = shutil.disk_usage("/dev/shm")
        lines.append(f"/dev/shm: {room.free} of {room.total} bytes are free")
    return "\n".join(lines)


def _groups() -> str:
    lines = []
    for _, folder in control_groups.around():
        for name in _GROUP_FILES:
            with suppress(OSError):
                lines.append(f"{folder / name}: {(folder / name).read_text().strip()}")
    return "\n".join(dict.fromkeys(lines)) or "no control group has a file with a limit that can be read"


def _limits() -> str:
    lines = []
    for name in _RESOURCES:
        soft, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))
        shown = ["unlimited" if one == resource.RLIM_INFINITY else str(one) for one in (soft, hard)]
        lines.append(f"{name}: {shown[0]}, at most {shown[1]}")
    return "\n".join(lines)


def _driver() -> str:
    try:
        return (PROC / "driver" / "nvidia" / "version").read_text()
    except OSError as error:
        raise Missing(f"no driver of NVIDIA is loaded here ({error.strerror})") from None


def _nvidia_smi() -> str:
    if shutil.which("nvidia-smi") is None:
        raise Missing("there is no nvidia-smi")
    code, out, error = output_of(["nvidia-smi"], DRIVER_SECONDS)
    kept = end_of(without_processes(out), PART_BYTES)
    found = kept if isinstance(kept, str) else kept.text
    return found if code == 0 else f"{found}\nexit status {code}: {error}"


def without_processes(said: bytes) -> bytes:
    """Returns the output of nvidia-smi up to its list of processes, which has arguments of programs."""
    lines = said.splitlines(keepends=True)
    at = next((number for number, line in enumerate(lines) if b"process" in line.lower()), len(lines))
    return b"".join(lines[:at])
