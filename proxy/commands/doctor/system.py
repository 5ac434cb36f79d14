"""Checks of the system: versions, and what its kernel, or a container's profile, lets a process do.

Called by: command.py. Promise: what a check tries has no effect on this process or on others.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import platform
import re
import shutil
import signal
import socket
import sys
from pathlib import Path

from ...common import paths
from ...common.shared_memory import NoSpace, sealed
from . import child
from .check import Check, Context, Finding, bad, good, unknown

#: The oldest Python.
PYTHON = (3, 10)
#: A socket's option since Linux 6.5: a pidfd of the process at the other end.
_SO_PEERPIDFD = 77
_ALLOW = "allow it in the container's seccomp profile (docker run --security-opt seccomp=FILE)"
_LAYOUT = """
from jitc.proxy.backends.cuda.layout import fix_layout
if fix_layout():
    print("kernel")
else:
    from jitc.proxy.worker.layout import fix_layout as reserve
    print(reserve() or "reserved")
"""
#: Has a process that is no child of another one trace it, as gdb does with a worker; the tracer's end ends that. Prints
#: the error's number, 0: none.
_TRACED = """
import ctypes, os
call = ctypes.CDLL(None, use_errno=True).ptrace
call.restype, call.argtypes = ctypes.c_long, [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
tracer = os.fork()
if not tracer:
    os._exit(ctypes.get_errno() if call(0x4206, os.getppid(), None, None) else 0)  # PTRACE_SEIZE stops nothing
print(os.waitstatus_to_exitcode(os.waitpid(tracer, 0)[1]))
"""


def glibc(_: Context) -> Finding:
    try:
        paths.refuse_an_old_system()
    except paths.MissingLibrary as error:
        return bad(str(error), "use a newer system, or a container of one")
    found = (os.confstr("CS_GNU_LIBC_VERSION") or "").removeprefix("glibc ")
    return good(f"{found}, at least {paths.GLIBC[0]}.{paths.GLIBC[1]} is needed")


def python(_: Context) -> Finding:
    return of_python(sys.version_info[:2], platform.python_version())


def of_python(version: tuple[int, ...], text: str) -> Finding:
    least = ".".join(map(str, PYTHON))
    if version < PYTHON:
        return bad(f"{text}, at least {least} is needed", f"install jitc with Python {least} or newer")
    return good(f"{text}, at least {least} is needed")


def processor(_: Context) -> Finding:
    return of_processor(platform.machine())


def of_processor(machine: str) -> Finding:
    if machine != paths.PROCESSOR:
        return bad(f"{machine}; jitc is built for {paths.PROCESSOR} only", f"use a machine with {paths.PROCESSOR}")
    return good(machine)


def memfd(context: Context) -> Finding:
    """Creates memory as the service does. The software device also runs compiled kernels from such memory."""
    try:
        memory = sealed("doctor", mmap.PAGESIZE, b"jitc")
    except (NoSpace, OSError) as error:
        return bad(f"memfd_create does not work: {error}; sessions have all their memory from it", _ALLOW)
    try:
        os.ftruncate(memory.fd, 2 * mmap.PAGESIZE)
        return bad(
            "the size of sealed memory can be changed, so programs could crash workers",
            "use a kernel that seals memory",
        )
    except PermissionError:
        pass
    finally:
        memory.close()
    if context.device == "software" and (why := _cannot_run()):
        return bad(f"memory of memfd_create cannot be run ({why}): torch.compile does not work", _ALLOW)
    return good("memfd_create makes shared memory, and seals its size")


def _cannot_run() -> str:
    try:
        descriptor = os.memfd_create("jitc-doctor", os.MFD_CLOEXEC)
    except OSError as error:
        return str(error)
    try:
        os.ftruncate(descriptor, mmap.PAGESIZE)
        mmap.mmap(descriptor, mmap.PAGESIZE, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_EXEC).close()
    except OSError as error:
        return str(error)
    finally:
        os.close(descriptor)
    return ""


def pidfd(_: Context) -> Finding:
    return of_pidfds(_opens_pidfd(), _peer_pidfd())


def of_pidfds(opening: str, peer: str) -> Finding:
    """opening, peer: why pidfd_open and SO_PEERPIDFD do not work; empty: they do."""
    if not opening:
        return good("pidfd_open works")
    if not peer:
        return good(f"pidfd_open does not work ({opening}); the kernel gives pidfds of connections instead")
    return bad(
        f"pidfd_open does not work ({opening}), nor does SO_PEERPIDFD ({peer}): the end of a program is not noticed "
        "while a child process of it holds its connection",
        f"{_ALLOW}, or use Linux 5.3 or newer",
    )


def _opens_pidfd() -> str:
    try:
        descriptor = os.pidfd_open(os.getpid())
    except (OSError, AttributeError) as error:
        return _reason(error)
    try:
        signal.pidfd_send_signal(descriptor, 0)
    except (OSError, AttributeError) as error:
        return f"pidfd_send_signal: {_reason(error)}"
    finally:
        os.close(descriptor)
    return ""


def _peer_pidfd() -> str:
    ends = socket.socketpair(socket.AF_UNIX)
    try:
        os.close(ends[0].getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD))
    except OSError as error:
        return _reason(error)
    finally:
        for one in ends:
            one.close()
    return ""


def layout(_: Context) -> Finding:
    done = child.ran_python(_LAYOUT)
    found = done.output.strip()
    if found == "kernel":
        return good("personality(2) works: workers have the same memory layout")
    remedy = f"personality(2) with ADDR_NO_RANDOMIZE: {_ALLOW}"
    if found == "reserved":
        return unknown(
            "personality(2) is refused; workers reserve addresses instead, to have the same layout, which has not been "
            "tried on a GPU: a device variable whose address a program knows may move in a recovery",
            remedy,
        )
    why = found or done.why()
    return bad(
        f"workers have no fixed memory layout ({why}): after a recovery a device variable whose address a program "
        "knows may be elsewhere, which ends the program",
        remedy,
    )


def seccomp(_: Context) -> Finding:
    calls = {"memfd_create": _memfd, "pidfd_open": _opens_pidfd, "personality": _personality}
    return of_seccomp(_filters(), [name for name, tried in calls.items() if tried()])


def of_seccomp(filters: int, refused: list[str]) -> Finding:
    """filters: how many this process has. refused: calls of jitc's that do not work."""
    if not filters:
        return good("no filter of system calls")
    text = "one filter" if filters == 1 else f"{filters} filters"
    if not refused:
        return good(f"{text} of system calls; none of the calls that jitc makes is refused")
    text += f" of system calls; refused: {', '.join(refused)} (memfd, pidfd and layout say what that means)"
    return bad(text, _ALLOW) if "memfd_create" in refused else unknown(text, _ALLOW)


def _filters(file: Path = Path("/proc/self/status")) -> int:
    fields = dict(line.split(":", 1) for line in file.read_text().splitlines() if ":" in line)
    return int(fields.get("Seccomp_filters", fields.get("Seccomp", "0")))


def _memfd() -> str:
    try:
        os.close(os.memfd_create("jitc-doctor", os.MFD_CLOEXEC))
    except OSError as error:
        return _reason(error)
    return ""


def _personality() -> str:
    done = child.ran_python("from jitc.proxy.backends.cuda.layout import fix_layout; print(fix_layout())")
    return "" if done.output.strip() == "True" else "refused"


def tracing(_: Context) -> Finding:
    """No part of jitc traces or reads another process, but a user who examines a worker does."""
    done = child.ran_python(_TRACED)
    number = done.output.strip()
    why = errno.errorcode.get(int(number), "ended by a signal") if re.fullmatch("-?[0-9]+", number) else done.why()
    return of_tracing("" if number == "0" else why, _yama())


def _yama(file: Path = Path("/proc/sys/kernel/yama/ptrace_scope")) -> str:
    with contextlib.suppress(OSError):
        return f"Yama's ptrace_scope is {file.read_text().strip()}"
    return "no limit by Yama"


def of_tracing(refused: str, level: str) -> Finding:
    """refused: why one process cannot trace another one; empty: it can. level: Yama's, as text."""
    if not refused:
        return good(f"not needed by jitc; {level}, and gdb and py-spy work on a worker")
    return unknown(
        f"not needed by jitc; gdb and py-spy on a worker are refused here ({refused}; {level})",
        "nothing to do for jitc; to examine a worker, do it as root, or start the container with --cap-add SYS_PTRACE",
    )


def criu(_: Context) -> Finding:
    found = shutil.which("criu")
    if found is None:
        return unknown("not installed; no part of jitc uses it (docs/decisions.md, 106)", "nothing to do")
    version = child.ran([found, "--version"]).output.strip().splitlines()
    checked = child.ran([found, "check"])
    text = f"{found}, {version[0] if version else 'no version'}; no part of jitc uses it"
    if checked.status == 0:
        return good(text)
    return unknown(f"{text}; `criu check`: {checked.why()}", "nothing to do for jitc; `criu check` as root says more")


def _reason(error: Exception) -> str:
    number = getattr(error, "errno", None)
    return errno.errorcode.get(number, str(error)) if isinstance(number, int) else str(error)


CHECKS = (
    Check("glibc", glibc), Check("python", python), Check("processor", processor), Check("memfd", memfd),
    Check("pidfd", pidfd), Check("layout", layout, ("cuda",)), Check("seccomp", seccomp), Check("ptrace", tracing),
    Check("criu", criu),
)  # fmt: skip
