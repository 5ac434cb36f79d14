"""`refused_call.py NUMBER COMMAND...`: runs the command with one system call refused (EPERM), as sandboxes do it."""

from __future__ import annotations

import ctypes
import os
import struct
import sys

_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 1
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06


def refuse(number: int) -> None:
    """The kernel asks this program, in its byte code for packet filters, about each system call."""
    lines = [(_LOAD, 0, 0, 0), (_JUMP_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    program = struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(code))
    process = ctypes.CDLL(None, use_errno=True)
    for words in ((_NO_NEW_PRIVILEGES, 1, 0, 0, 0), (_SECCOMP, _FILTER, program, 0, 0)):
        if process.prctl(*words):
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    refuse(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
