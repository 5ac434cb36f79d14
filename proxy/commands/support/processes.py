"""This user's processes of a service, as the kernel describes them: the service, its keeper and its workers.

Called by: collect.py. Promises: nothing is sent to a process, so a stopped one is described like any other; of a
program that the service serves only its number and its name are read, and its arguments if they are asked for. A number
may mean another process, in a container or a moment later: facts of a process that has ended meanwhile are left out.
"""

from __future__ import annotations

import itertools
import os
import shlex
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...common.paths import default_socket
from ...common.printable import LINE, printable
from ...keeper.claim.socket_lock import MARKER
from .part import Missing

PROC = Path("/proc")
#: Names of systemd as a command.
_MANAGERS = ("systemd", "init")
SERVICE, RESPAWN, KEEPER, WORKER = "service", "respawn", "keeper", "worker"
_ROLES = (RESPAWN, SERVICE, KEEPER, WORKER)
_HEAD = ("role", "pid", "name", "state", "parent", "resident MiB", "threads", "started")
_MODULE = "jitc.proxy.commands.proxyd"
_COMMAND = "jitc-proxyd"
_TICKS, _PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
#: Seconds for the socket to accept a connection, by which the kernel names the service.
_CONNECT_SECONDS = 1.0


@dataclass(frozen=True)
class Stat:
    """A process, or a thread, at one moment."""

    name: str
    state: str
    parent: int
    threads: int
    started: int  # ticks since the machine started: with the number it identifies a process
    resident: int  # bytes


@dataclass(frozen=True)
class Process:
    """One of jitc's own processes."""

    pid: int
    role: str
    stat: Stat
    words: list[str]


def of_socket(path: str) -> list[Process]:
    """Returns the processes that belong to the service on this socket, each role's in the order of numbers."""
    listener = _listener(path)
    found = [one for pid in _numbers() if (one := _process(pid, path, listener)) is not None]
    return sorted(found, key=lambda one: (_ROLES.index(one.role), one.pid))


def table(own: list[Process], programs: list[int] | str, with_arguments: bool) -> str:
    """Returns the processes as lines. programs: those that the service serves, or why they are unknown."""
    rows = [_HEAD, *map(_row, own)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if not own:
        lines = ["this user has no process of this service here; those of another user or container are not visible"]
    named = {pid: _name(pid) for pid in (programs if isinstance(programs, list) else [])}
    lines += ["", "programs, with the numbers that the service reports:"]
    lines += [f"{pid}  {name or 'no process of this user here'}" for pid, name in named.items()]
    if not named:
        lines.append("none" if isinstance(programs, list) else f"unknown: {programs}")
    if with_arguments:
        lines += ["", "command lines:", *(f"{one.pid}  {_shown(one.words)}" for one in own)]
        lines += [f"{pid}  {_shown(_words(pid))}" for pid, name in named.items() if name]
    return "\n".join(lines) + "\n"


def facts(one: Process) -> str:
    """Returns what the kernel says about a process and its threads. Raises Missing if it has ended."""
    folder = PROC / str(one.pid)
    sections = [f"== {name} ==\n{_read(folder / name)}\n" for name in ("status", "wchan", "limits")]
    threads = ["== threads: number, state, name, where it waits in the kernel =="]
    for each in sorted((folder / "task").glob("[0-9]*"), key=lambda path: int(path.name)):
        with suppress(OSError, IndexError):
            stat = _stat(each)
            threads.append(f"{each.name}  {stat.state}  {printable(stat.name)}  {_read(each / 'wchan')}")
    if _now(one.pid) != one.stat.started:
        raise Missing("the process has ended meanwhile")
    return "\n".join([*sections, *threads]) + "\n"


def owned(pid: int) -> bool:
    """Returns whether there is a process of this number that belongs to this user."""
    try:
        return os.stat(PROC / str(pid)).st_uid == os.geteuid()
    except OSError:
        return False


def all_of_user() -> Iterator[int]:
    """Returns the numbers of this user's processes."""
    return (pid for pid in _numbers() if owned(pid))


# -- finding them ---------------------------------------------------------------------------------


def _numbers() -> list[int]:
    with suppress(OSError):
        return sorted(int(name) for name in os.listdir(PROC) if name.isdecimal())
    return []


def _listener(path: str) -> int:
    """Returns the process that listens on the socket, as the kernel has it: the service, or systemd, which has made the
    socket for it. 0: none that is visible here."""
    if not os.path.exists(f"{path}.d/{MARKER}"):
        return 0  # another program's socket
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection, suppress(OSError):
        connection.settimeout(_CONNECT_SECONDS)
        connection.connect(path)
        size = struct.calcsize("3i")
        return int(struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[0])
    return 0


def _process(pid: int, path: str, listener: int) -> Process | None:
    try:
        words = _words(pid) if owned(pid) else []
        role = _role(pid, words, path, listener)
        return Process(pid, role, _stat(PROC / str(pid)), words) if role else None
    except (OSError, IndexError):  # it has just ended
        return None


def _role(pid: int, words: list[str], path: str, listener: int) -> str:
    if _has(words, "--service", path) and "--keeper-fd" in words:
        return WORKER
    if "jitc.proxy.keeper" in words and _has(words, "--socket", path):
        return KEEPER
    if pid == listener and words and os.path.basename(words[0]) not in _MANAGERS:
        return SERVICE
    if _MODULE in words[:4] or any(os.path.basename(one) == _COMMAND for one in words[:3]):
        return (RESPAWN if "--respawn" in words else SERVICE) if _serves(pid, words, path) else ""
    return ""


def _serves(pid: int, words: list[str], path: str) -> bool:
    if not any(one.split("=")[0] == "--socket" for one in words):
        return path == default_socket()
    return _has(words, "--socket", path) or _has(words, "--socket", _from(pid, path))


def _has(words: list[str], option: str, value: str) -> bool:
    return (option, value) in itertools.pairwise(words) or f"{option}={value}" in words


def _from(pid: int, path: str) -> str:
    """Returns the path as the process may have been given it: relative to its folder."""
    with suppress(OSError):
        return os.path.relpath(path, os.readlink(PROC / str(pid) / "cwd"))
    return path


# -- reading them ---------------------------------------------------------------------------------


def _row(one: Process) -> tuple[str, ...]:
    stat = one.stat
    return (
        one.role, str(one.pid), printable(stat.name), stat.state, str(stat.parent), str(stat.resident >> 20),
        str(stat.threads), _moment(stat.started),
    )  # fmt: skip


def _moment(ticks: int) -> str:
    """Returns the time of day of a process's start."""
    for line in _read(PROC / "stat").splitlines():
        if line.startswith("btime "):
            return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(int(line.split()[1]) + ticks / _TICKS))
    return "unknown"


def _stat(folder: Path) -> Stat:
    before, _, after = (folder / "stat").read_text(errors="backslashreplace").rpartition(")")
    fields = after.split()
    return Stat(
        name=before.partition("(")[2], state=fields[0], parent=int(fields[1]), threads=int(fields[17]),
        started=int(fields[19]), resident=int(fields[21]) * _PAGE,
    )  # fmt: skip


def _now(pid: int) -> int:
    with suppress(OSError, IndexError):
        return _stat(PROC / str(pid)).started
    return -1


def _name(pid: int) -> str:
    """Returns the name of a program's command; empty if this user has no such process."""
    with suppress(OSError, IndexError):
        return printable(_stat(PROC / str(pid)).name) if owned(pid) else ""
    return ""


def _words(pid: int) -> list[str]:
    """Returns the words of a command line; none if the process has ended."""
    with suppress(OSError):
        data = (PROC / str(pid) / "cmdline").read_bytes()
        return data.decode("utf-8", "backslashreplace").rstrip("\0").split("\0") if data else []
    return []


def _shown(words: list[str]) -> str:
    return printable(shlex.join(words), LINE)


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="backslashreplace").strip() or "-"
    except OSError as error:
        return f"not readable: {error.strerror}"
