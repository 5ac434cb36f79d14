"""What all processes of a step do at this moment: written where something gives no answer, before it is ended.

Called by: lab.py, at the end of a wait. Promises: it takes SECONDS at most and raises nothing; what cannot be read is
left out. A debugger's view of native stacks is there where cuda-gdb or gdb is installed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from . import children

SECONDS = 12.0
_DEBUGGERS = ("gdb", "cuda-gdb", "/usr/local/cuda/bin/cuda-gdb")
#: Of every thread: its name, where it waits in the kernel, and the system call that it is in.
_FILES = ("comm", "wchan", "syscall", "stack")


def write(file: Path) -> None:
    """Everything below this process into the file."""
    pids = children.descendants(os.getpid())
    with contextlib.suppress(OSError):
        file.write_text("\n".join(_kernel(pid) for pid in pids))
    debugger = next((found for name in _DEBUGGERS if (found := shutil.which(name))), None)
    if debugger is None:
        return
    with contextlib.suppress(OSError):
        started = [_debugged(debugger, pid, file.with_name(f"{file.stem}-{pid}.txt")) for pid in pids]
        until = time.monotonic() + SECONDS
        for process in started:  # all of them run at once
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _kernel(pid: int) -> str:
    lines = [f"== {pid}: {_read(Path(f'/proc/{pid}/cmdline')).replace(chr(0), ' ')}"]
    with contextlib.suppress(OSError):
        for thread in sorted(Path(f"/proc/{pid}/task").iterdir()):
            said = (_read(thread / name).replace("\n", " < ") for name in _FILES)
            lines.append(f"  {thread.name}: {' | '.join(said)}")
    return "\n".join(lines)


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return "?"


def _debugged(debugger: str, pid: int, file: Path) -> subprocess.Popen[bytes]:
    words = ["-p", str(pid), "-batch", "-nx", "-ex", "set pagination off", "-ex", "thread apply all bt 40"]
    with file.open("wb") as output:
        return subprocess.Popen(
            [debugger, *words], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
