"""Paths of sockets and shipped libraries, and the versions of shared formats.

Called by: everything in this package. Promises: it imports nothing heavy, so that the `jitc` command starts fast; all
paths follow from the package's location, none from the machine that built it.
"""

from __future__ import annotations

import os
from pathlib import Path

PROTOCOL_VERSION = 4
#: Of the board that workers share (proxy/native/base/shared/board.h); a test remembers the layout that it stands for.
BOARD_VERSION = 7
#: Of the journal (`Journal::kFormat`), likewise.
JOURNAL_VERSION = 13
#: Of what a service asks of workers that another one has started (worker.proto): of its Assign, since 2; they have
#: their memory from the keeper, since 3.
WORKER_VERSION = 3

_PACKAGE = Path(__file__).resolve().parents[1]


class MissingLibrary(Exception):
    """A shipped native library is not where it belongs."""


def default_socket() -> str:
    """Returns the service's socket: JITC_SOCKET, otherwise the user's runtime directory, otherwise /run."""
    named = os.environ.get("JITC_SOCKET")
    if named:
        return named
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return f"{runtime}/jitc/proxyd.sock" if runtime else "/run/jitc/proxyd.sock"


def executor_library() -> Path:
    return _library(_PACKAGE / "lib" / "libjitc_executor.so")


def boundaries_library() -> Path:
    return _library(_PACKAGE / "lib" / "libjitc_boundaries.so")


def transport_library() -> Path:
    return _library(_sibling("interpose") / "lib" / "libjitc_transport.so")


def op_socket(worker_socket: str) -> str:
    """Returns the socket on which a worker serves op streams, beside that of its control calls."""
    return f"{worker_socket}-ops"


def operators_library() -> Path | None:
    """Returns the library of PyTorch's CPU kernels; absent in an installation without PyTorch."""
    path = _PACKAGE / "lib" / "libjitc_operators.so"
    return path if path.exists() else None


def preload_library() -> Path:
    return _library(_sibling("interpose") / "lib" / "libjitc_interpose.so")


def _sibling(name: str) -> Path:
    """Returns the folder of another package of jitc, found without importing it."""
    from importlib.util import find_spec

    spec = find_spec(f"jitc.{name}")
    if spec is None or not spec.submodule_search_locations:
        raise MissingLibrary(f"the package jitc.{name} is not installed; install jitc again")
    return Path(next(iter(spec.submodule_search_locations))).resolve()


def _library(path: Path) -> Path:
    if not path.exists():
        raise MissingLibrary(f"{path.name} is missing ({path}); build it with `make build`")
    return path
