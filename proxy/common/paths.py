"""Paths of sockets and shipped libraries, and the versions of shared formats.

Called by: everything in this package. Promises: it imports nothing heavy, so that the `jitc` command starts fast; all
paths follow from the package's location, none from the machine that built it.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ctypes

PROTOCOL_VERSION = 4
#: Of what workers share: the board (proxy/native/base/shared/board.h), and segments of communicators; a test remembers
#: the layout that it stands for.
BOARD_VERSION = 9
#: Of the journal (`Journal::kFormat`), likewise.
JOURNAL_VERSION = 13
#: Of what a service asks of workers that another one has started (worker.proto): of its Assign, since 2; they have
#: their memory from the keeper, since 3.
WORKER_VERSION = 3

#: The processor for which the shipped libraries are built, and the oldest glibc with which they can be loaded; a test
#: reads what they need.
PROCESSOR, GLIBC = "x86_64", (2, 34)

#: Where a service of the system listens: root's, for the programs of all users. Tests replace it.
SYSTEM_SOCKET = "/run/jitc/proxyd.sock"

_PACKAGE = Path(__file__).resolve().parents[1]
#: The head of a library: its magic number, the place of the table of its sections, the size and number of its entries.
_HEAD = struct.Struct("<4s36xQ10xHH2x")
_MAGIC = b"\x7fELF"


class MissingLibrary(Exception):
    """A shipped native library is not where it belongs, is not whole, or cannot be loaded on this system."""


def default_socket() -> str:
    """Returns the socket of a service that starts: JITC_SOCKET, otherwise the user's runtime directory, otherwise
    /run. It does not depend on which services there are."""
    return os.environ.get("JITC_SOCKET") or _own_socket()


def client_socket() -> str:
    """Returns the socket on which programs and commands look for a service: the default of a service, unless that is
    the user's own and a service is expected on the system's alone. Programs have the same rule (`service_socket` in
    interpose/session/environment.cpp). The answer changes when a service begins or ends: who asks again keeps it."""
    named = os.environ.get("JITC_SOCKET")
    if named:
        return named
    own = _own_socket()
    return own if _expected(own) or not _expected(SYSTEM_SOCKET) else SYSTEM_SOCKET


def _own_socket() -> str:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return f"{runtime}/jitc/proxyd.sock" if runtime else SYSTEM_SOCKET


def _expected(path: str) -> bool:
    """Returns whether a service is to be expected: the folder beside the socket outlives one that is killed."""
    return os.path.exists(path) or os.path.isdir(f"{path}.d")


def executor_library() -> Path:
    return _library(_PACKAGE / "lib" / "libjitc_executor.so")


def boundaries_library() -> Path:
    return _library(_PACKAGE / "lib" / "libjitc_boundaries.so")


def transport_library() -> Path:
    return _library(_sibling("interpose") / "lib" / "libjitc_transport.so")


def op_socket(worker_socket: str) -> str:
    """Returns the socket on which a worker serves op streams, beside that of its control calls."""
    return f"{worker_socket}-ops"


def preload_library() -> Path:
    return _library(_sibling("interpose") / "lib" / "libjitc_interpose.so")


def opened(path: Path) -> ctypes.CDLL:
    """Loads a shipped library. Raises MissingLibrary."""
    import ctypes

    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise MissingLibrary(f"{path.name} cannot be loaded ({error}); {_remedy()}") from None


def _sibling(name: str) -> Path:
    """Returns the folder of another package of jitc, found without importing it."""
    from importlib.util import find_spec

    spec = find_spec(f"jitc.{name}")
    if spec is None or not spec.submodule_search_locations:
        raise MissingLibrary(f"the package jitc.{name} is not installed; install jitc again")
    return Path(next(iter(spec.submodule_search_locations))).resolve()


def _library(path: Path) -> Path:
    refuse_an_old_system()
    if not path.exists():
        raise MissingLibrary(f"{path.name} is missing ({path}); {_remedy()}")
    if not _is_whole(path):
        raise MissingLibrary(f"{path.name} is damaged ({path}); {_remedy()}")
    return path


def _is_whole(path: Path) -> bool:
    """Returns whether a library has its end: the table of sections, which is the last that linkers write. The loader
    does not look, and SIGBUS ends the process that touches what is not there."""
    with path.open("rb") as file:
        head, size = file.read(_HEAD.size), os.fstat(file.fileno()).st_size
    if len(head) < _HEAD.size:
        return False
    magic, table, each, count = _HEAD.unpack(head)
    return bool(magic == _MAGIC and table + each * count <= size)


def _remedy() -> str:
    from jitc.client_shim.native_parts.installation import remedy

    return remedy()


def refuse_another_processor() -> None:
    """Raises MissingLibrary where the shipped libraries are for another processor. The loader's own words about that
    name a file and no remedy."""
    if (found := os.uname().machine) != PROCESSOR:
        raise MissingLibrary(f"jitc needs an {PROCESSOR} processor, and this system's is {found}; use another machine")


def refuse_an_old_system() -> None:
    """Raises MissingLibrary where the shipped libraries cannot be loaded. The loader's own words about that are five,
    and a program with the preloaded library does not start."""
    try:
        found = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        found = ""
    number = found.removeprefix("glibc ").split(".")
    if number[0].isdecimal() and tuple(int(one) for one in number[:2]) >= GLIBC:
        return
    what = f"this system has {found}" if found else "this system's C library is another one"
    raise MissingLibrary(
        f"jitc needs glibc {GLIBC[0]}.{GLIBC[1]} or newer (Debian 12, Ubuntu 22.04, Red Hat 9), and {what}"
    )
