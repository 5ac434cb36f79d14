"""Writes a document to a file, or to standard output.

Called by: command.py, ../support/archive.py. Promise: the file has the whole document, or is unchanged; any failure is
one line that names the file.
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
        to_standard_output(data)
        return
    try:
        place(path, data)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror or error}") from None


def to_standard_output(data: bytes) -> None:
    """Raises OSError."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def place(path: str, data: bytes, *, mode: int | None = None, replace: bool = True) -> None:
    """Writes a file as a whole, or leaves all as it is. mode: its permissions; None: those of the file that is there,
    else of any new one. replace: also one that is there. Raises OSError."""
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        with open(path, "wb") as file:  # a pipe or a device: there is nothing to replace
            file.write(data)
        return
    target = os.path.realpath(path) if replace else path  # a link stays a link
    handle, temporary = tempfile.mkstemp(prefix=".jitc-", dir=os.path.dirname(target))
    try:
        with open(handle, "wb") as file:
            os.fchmod(handle, _mode(target) if mode is None else mode)
            file.write(data)
            file.flush()
            os.fsync(handle)  # some file systems report only here that they are full
        if replace:
            os.replace(temporary, target)
        else:
            _name(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _name(temporary: str, target: str) -> None:
    """Gives the file its name. Raises FileExistsError if that is taken."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise FileExistsError from None
        os.rename(temporary, target)
    else:
        os.unlink(temporary)


def _mode(target: str) -> int:
    """Returns the permissions of the existing file, otherwise those of any new file."""
    with contextlib.suppress(FileNotFoundError):
        return stat.S_IMODE(os.stat(target).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
