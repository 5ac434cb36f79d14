"""Checks of limits: descriptors, processes, locked memory, memory, and the programs' own /dev/shm.

Called by: command.py. Promise: a limit of this process counts like that of the service, which is started in the same
way; a limit that cannot be read does not count.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
from pathlib import Path

from jitc.ops.options.table import COPIES
from jitc.ops.options.values import MIB

from ...common import control_groups, host_memory
from ...common.config import SLOTS
from ...common.host_memory import size_text
from ...node import descriptors
from .check import Check, Context, Finding, bad, good, unknown

#: Descriptors that a service has open without sessions, and the sessions of a node with eight GPUs.
_SERVICE_DESCRIPTORS, _SESSIONS = 64, 8
#: Threads of a service with a few sessions and their workers; each of these serves calls with up to 32 threads.
_THREADS = 1024
#: Size of a container's /dev/shm unless more is asked for.
_USUAL_SHM = 64 * MIB


def open_files(_: Context) -> Finding:
    """The service raises its soft limit to the hard one."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return good("no limit of descriptors")
    rest = hard - max(descriptors.SESSION, hard // 8) - _SERVICE_DESCRIPTORS
    room = min(SLOTS, max(0, rest // descriptors.SESSION))
    text = f"hard limit {hard}: room for {room} sessions of {descriptors.SESSION} descriptors each"
    if room < _SESSIONS:
        return bad(text, "raise it: ulimit -Hn 65536, docker run --ulimit nofile=65536, LimitNOFILE= of systemd")
    return good(text)


def locked_memory(_: Context) -> Finding:
    soft, _hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft == resource.RLIM_INFINITY:
        return good("no limit of locked memory")
    return unknown(
        f"limit {_amount(soft)}: jitc itself locks no memory; NCCL over InfiniBand may need more",
        "if NCCL uses InfiniBand: ulimit -l unlimited, docker run --ulimit memlock=-1, LimitMEMLOCK= of systemd",
    )


def _amount(size: int) -> str:
    return size_text(size) if size >= MIB else f"{size >> 10} KiB"


def processes(_: Context) -> Finding:
    soft, _hard = resource.getrlimit(resource.RLIMIT_NPROC)
    user = None if soft == resource.RLIM_INFINITY or os.geteuid() == 0 else soft
    return of_processes(user, tasks())


def of_processes(user: int | None, group: tuple[int, int] | None) -> Finding:
    """user: the user's limit. group: used and allowed tasks of the control group. None: no limit."""
    said, least = [], _THREADS
    if user is not None:
        said.append(f"{user} for this user (ulimit -u)")
        least = min(least, user)
    if group is not None:
        used, most = group
        said.append(f"{used} of {most} in this control group (pids.max)")
        least = min(least, most - used)
    if not said:
        return good("no limit of processes and threads")
    text = f"processes and threads: {', '.join(said)}"
    if least < _THREADS:
        return bad(
            f"{text}; a service with eight workers may need {_THREADS}",
            "raise it: ulimit -u, docker run --pids-limit -1, TasksMax= of systemd",
        )
    return good(text)


def tasks(groups: Path = control_groups.CGROUPS, own: Path = control_groups.OWN) -> tuple[int, int] | None:
    """Returns used and allowed tasks of the control group that leaves the fewest; None if none has a limit."""
    found: list[tuple[int, int]] = []
    with contextlib.suppress(OSError):
        for controllers, folder in control_groups.around(own, groups):
            if controllers in ("", "pids"):
                with contextlib.suppress(OSError, ValueError):  # "max" is no number
                    most = int((folder / "pids.max").read_text())
                    found.append((int((folder / "pids.current").read_text()), most))
    return min(found, key=lambda one: one[1] - one[0], default=None)


def memory(_: Context) -> Finding:
    available, limit = host_memory.available(), host_memory.limit()
    return of_memory(available, limit.text() if limit is not None else "")


def of_memory(available: int, limit: str) -> Finding:
    """available: bytes; 0: unknown. limit: that of a container, as text."""
    if not available:
        return unknown("the kernel does not say how much memory is available", "name --copies-limit")
    copies = COPIES.clamp(available // 2 // MIB * MIB)
    text = f"{size_text(available)} available, half of it ({size_text(copies)}) for copies unless --copies-limit says"
    text += f"; a container's limit counts, {limit}" if limit else ""
    if available // 2 < COPIES.least:
        return bad(text, "free memory, or give the container more (docker run --memory)")
    return good(text)


def shared_folder(_: Context, folder: Path = Path("/dev/shm")) -> Finding:
    """No part of jitc has files there; programs and NVIDIA's libraries do."""
    remedy = "docker run --shm-size 8g, or an emptyDir of medium Memory in a pod"
    users = "PyTorch's loaders with workers, and NCCL, need it; jitc does not"
    if not folder.is_dir():
        return bad(f"there is no {folder}: {users}", f"mount a tmpfs there: {remedy}")
    if not os.access(folder, os.W_OK | os.X_OK):
        return bad(f"{folder} cannot be written to: {users}", f"chmod 1777 {folder}")
    usage = shutil.disk_usage(folder)
    text = f"{size_text(usage.free)} of {size_text(usage.total)} free: {users}"
    if usage.free < MIB:
        return bad(text, f"remove what is left in it, or make it larger: {remedy}")
    if usage.free <= _USUAL_SHM:
        return unknown(f"{text}, and this may be too little (64 MiB is a container's default)", remedy)
    return good(text)


CHECKS = (
    Check("descriptors", open_files), Check("processes", processes), Check("locked memory", locked_memory, ("cuda",)),
    Check("memory", memory), Check("/dev/shm", shared_folder),
)  # fmt: skip
