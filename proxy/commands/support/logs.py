"""The end of the service's log, where it can be found: in systemd's journal, or in the file that is its standard error.

Called by: collect.py. Promises: a file that programs write to as well is left out, since it has their output; nothing
is read from a pipe or a terminal.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from . import processes
from .part import PART_BYTES, Missing, Part, Partial, collected, end_of, output_of

#: Where systemd is, if it is there.
SYSTEMD = Path("/run/systemd/system")
JOURNAL_SECONDS = 20.0
_LINES = 2000
#: The last bytes of a log file.
LOG_BYTES = 1 << 20
_UNIT = "jitc-proxyd"
_REMEDY = (
    "a service writes its log to its standard error; add that text to the report by hand, or start the service with "
    "2> FILE"
)


def parts(services: list[int], own: set[int]) -> Iterator[Part]:
    """Returns the logs. services: the processes that serve; own: all of jitc's own processes."""
    yield collected("logs/journal.txt", lambda: _journal([]))
    yield collected("logs/journal-user.txt", lambda: _journal(["--user"]))
    yield collected("logs/standard-error.txt", lambda: _standard_error(services, own))


def _journal(where: list[str]) -> str | Partial:
    if not SYSTEMD.is_dir() or shutil.which("journalctl") is None:
        raise Missing("systemd is not there")
    command = ["journalctl", *where, "-u", _UNIT, "-n", str(_LINES), "--no-pager", "--quiet", "-o", "short-iso"]
    code, out, error = output_of(command, JOURNAL_SECONDS)
    if code:
        raise Missing(f"journalctl has failed, exit status {code}: {error}")
    if not out.strip():
        raise Missing(f"the journal has nothing of a unit {_UNIT} that this user may read")
    return end_of(out, PART_BYTES)


def _standard_error(services: list[int], own: set[int]) -> str | Partial:
    if not services:
        raise Missing(f"no process of the service was found; {_REMEDY}")
    path = processes.PROC / str(services[0]) / "fd" / "2"
    try:
        status = os.stat(path)
        target = os.readlink(path)
    except OSError as error:
        raise Missing(f"the standard error of process {services[0]} is unknown ({error.strerror}); {_REMEDY}") from None
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        raise Missing(f"the standard error of process {services[0]} is {target}, no file of this user; {_REMEDY}")
    if (other := _writer(status, own)) is not None:
        raise Missing(f"process {other} also writes to {target}, so it may have output of programs; {_REMEDY}")
    with open(path, "rb") as file:
        file.seek(max(0, status.st_size - LOG_BYTES))
        return _cut(file.read(LOG_BYTES), status.st_size)


def _cut(data: bytes, size: int) -> str | Partial:
    text = data.decode("utf-8", "backslashreplace")
    return text if len(data) >= size else Partial(text, f"only its last {len(data)} of {size} bytes are here")


def _writer(status: os.stat_result, own: set[int]) -> int | None:
    """Returns another process of this user that has this file as its output."""
    for pid in processes.all_of_user():
        for descriptor in ("1", "2") if pid not in own else ():
            with suppress(OSError):
                found = os.stat(processes.PROC / str(pid) / "fd" / descriptor)
                if (found.st_dev, found.st_ino) == (status.st_dev, status.st_ino):
                    return pid
    return None
