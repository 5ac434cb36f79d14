"""Commands from which the kernel hides system calls or other processes, as containers and sandboxes do, or that may
have less than this process.

`refusing("personality")`, `at_most("nofile", 128)`, or what `pid_namespace()` says, goes before a command's own words.
As a program: `sandbox.py 135,434 COMMAND...`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import subprocess
import sys
from functools import cache

_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.ENOSYS
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBERS = {
    "x86_64": {"ptrace": 101, "personality": 135, "memfd_create": 319, "pidfd_send_signal": 424, "pidfd_open": 434},
    "aarch64": {"ptrace": 117, "personality": 92, "memfd_create": 279, "pidfd_send_signal": 424, "pidfd_open": 434},
}


def refusing(*calls: str) -> tuple[str, ...]:
    """Words before a command whose processes shall not have these system calls (ENOSYS)."""
    numbers = _NUMBERS[platform.machine()]
    return sys.executable, __file__, ",".join(str(numbers[one]) for one in calls)


def at_most(limit: str, value: int | str) -> tuple[str, ...]:
    """Words before a command for which a limit of the kernel holds: prlimit's names, a number or "unlimited".

    Python's own way, a function between fork and exec, is not for a process in which gRPC may run: its threads begin
    anew in the child, lose their descriptors to exec, and now and then end the child by SIGABRT before its program.
    """
    return "prlimit", f"--{limit}={value}:{value}"


@cache
def pid_namespace() -> tuple[str, ...]:
    """Words before a command that shall neither see other processes nor be seen by them; none where that cannot be."""
    user = () if os.geteuid() == 0 else ("--user", "--map-current-user")
    words = ("unshare", *user, "--pid", "--fork", "--mount-proc", "--kill-child")
    try:
        done = subprocess.run([*words, "true"], check=False, capture_output=True, timeout=20)
    except FileNotFoundError:
        return ()
    return words if done.returncode == 0 else ()


def _refuse(number: int) -> None:
    """The kernel asks this program, in its byte code for packet filters, about each system call."""
    lines = [(_LOAD, 0, 0, 0), (_JUMP_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    program = struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(code))
    process = ctypes.CDLL(None, use_errno=True)
    for words in ((_NO_NEW_PRIVILEGES, 1, 0, 0, 0), (_SECCOMP, _FILTER, program, 0, 0)):
        if process.prctl(*words):
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    for one in sys.argv[1].split(","):
        _refuse(int(one))
    os.execvp(sys.argv[2], sys.argv[2:])
