"""Writes a document to a file, or to standard output.

Called by: command.py. Promise: the file has the whole document, or is unchanged; any failure is one line that names the
file.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile

from ..options import CommandError

STANDARD_OUTPUT = "-"


def write(path: str, text: str) -> None:
    """Writes the document. Raises CommandError, and OSError if standard output cannot be written to."""
    data = text.encode("utf-8", "backslashreplace")
    if path == STANDARD_OUTPUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        return
    try:
        target = os.path.realpath(path)  # a link stays a link
        if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
            with open(target, "wb") as file:  # a pipe or a device: there is nothing to replace
                file.write(data)
        else:
            _replace(target, data)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror or error}") from None


def _replace(target: str, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=".jitc-", dir=os.path.dirname(target))
    try:
        with open(handle, "wb") as file:
            os.fchmod(handle, _mode(target))
            file.write(data)
            file.flush()
            os.fsync(handle)  # some file systems report only here that they are full
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(target: str) -> int:
    """Returns the permissions of the existing file, otherwise those of any new file."""
    with contextlib.suppress(FileNotFoundError):
        return stat.S_IMODE(os.stat(target).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
