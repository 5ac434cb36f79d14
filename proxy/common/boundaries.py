"""The boundaries of a session, read from its files without a worker: libjitc_boundaries.so for Python.

Called by: code that needs a job's state when its worker, its service or its program is lost. Promises: nothing is
written to the files, and neither CUDA nor the executor is loaded; returned bytes have the hash that the journal
records; a worker may continue to write meanwhile, and a boundary that it drops is an error, never wrong bytes.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .paths import boundaries_library, opened


class BoundaryError(Exception):
    """An error with the library's own text: what is missing, was dropped, or is damaged."""


@dataclass(frozen=True)
class SessionFiles:
    """The location of a session's state, with the sizes of its parts, in bytes."""

    journal: str
    journal_bytes: int
    copies: str
    copies_bytes: int
    #: Empty: there is none.
    spill: str = ""
    spill_bytes: int = 0


@dataclass(frozen=True)
class Boundary:
    """A boundary to which a rollback is possible; `whole`: without data-parallel peers."""

    number: int
    #: Of the newest op whose effects are in it.
    sequence: int
    rows: int
    #: In bytes, of all rows, and of those that have a copy.
    size: int
    copied_size: int
    whole: bool
    #: The worker made it between two ops, for a rank that makes no optimizer steps.
    of_worker: bool


@dataclass(frozen=True)
class Row:
    """A block of device memory at a boundary."""

    #: Among the rows of its boundary.
    index: int
    #: Place in the list of live blocks that the program gave.
    ordinal: int
    address: int
    #: In bytes.
    size: int
    #: Content hash, 16 bytes (docs/journal.md).
    hash: bytes
    copied: bool

    @property
    def is_variable(self) -> bool:
        """Returns whether it is a variable of a module, and no allocation of the program."""
        return bool(self.ordinal >> 63)


class _Files(ctypes.Structure):
    """jitc_boundary_files."""

    _fields_ = [
        ("journal", ctypes.c_char_p),
        ("journal_bytes", ctypes.c_uint64),
        ("spill", ctypes.c_char_p),
        ("spill_bytes", ctypes.c_uint64),
        ("copies", ctypes.c_char_p),
        ("copies_bytes", ctypes.c_uint64),
    ]


class _Boundary(ctypes.Structure):
    """jitc_boundary."""

    _fields_ = [
        *((name, ctypes.c_uint64) for name in ("number", "sequence", "rows", "bytes", "copied_bytes")),
        ("whole", ctypes.c_uint32),
        ("of_worker", ctypes.c_uint32),
    ]


class _Row(ctypes.Structure):
    """jitc_boundary_row."""

    _fields_ = [
        *((name, ctypes.c_uint64) for name in ("ordinal", "address", "bytes")),
        ("hash", ctypes.c_uint8 * 16),
        ("copied", ctypes.c_uint32),
        ("padding", ctypes.c_uint32),
    ]


@functools.cache
def _load(path: Path) -> ctypes.CDLL:
    lib = opened(path)
    handle, u64, size = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "jitc_boundaries_open": (handle, [ctypes.POINTER(_Files)]),
        "jitc_boundaries_close": (None, [handle]),
        "jitc_boundaries_message": (ctypes.c_char_p, []),
        "jitc_boundaries_list": (ctypes.c_int64, [handle, ctypes.POINTER(_Boundary), size]),
        "jitc_boundaries_rows": (ctypes.c_int64, [handle, u64, ctypes.POINTER(_Row), size]),
        "jitc_boundaries_read": (ctypes.c_int, [handle, u64, u64, ctypes.c_void_p, u64]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


class BoundaryFiles:
    """The content of a session's files when they were opened. A context manager; one thread at a time.

    Raises BoundaryError.
    """

    def __init__(self, files: SessionFiles, library: Path | None = None) -> None:
        self._lib = _load(library or boundaries_library())
        named = _Files(
            files.journal.encode(), files.journal_bytes, files.spill.encode() or None, files.spill_bytes,
            files.copies.encode(), files.copies_bytes,
        )  # fmt: skip
        handle = self._lib.jitc_boundaries_open(ctypes.byref(named))
        if not handle:
            raise BoundaryError(self._message())
        self._handle = ctypes.c_void_p(handle)

    def __enter__(self) -> BoundaryFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        handle, self._handle = self._handle, ctypes.c_void_p()
        if handle:
            self._lib.jitc_boundaries_close(handle)

    def boundaries(self) -> list[Boundary]:
        """Returns the boundaries, oldest first."""
        room = self._checked(self._lib.jitc_boundaries_list(self._open(), None, 0))
        found = (_Boundary * room)()
        self._checked(self._lib.jitc_boundaries_list(self._open(), found, room))
        return [
            Boundary(
                one.number, one.sequence, one.rows, one.bytes, one.copied_bytes, bool(one.whole), bool(one.of_worker)
            )
            for one in found
        ]

    def rows(self, boundary: int) -> list[Row]:
        """Returns the rows in the order of their ordinals, variables last."""
        room = self._checked(self._lib.jitc_boundaries_rows(self._open(), boundary, None, 0))
        found = (_Row * room)()
        self._checked(self._lib.jitc_boundaries_rows(self._open(), boundary, found, room))
        return [
            Row(index, one.ordinal, one.address, one.bytes, bytes(one.hash), bool(one.copied))
            for index, one in enumerate(found)
        ]

    def read_into(self, boundary: int, row: Row, out: bytearray | memoryview) -> None:
        """Copies the content of a row, checked by its hash; out: writable, of the same size."""
        view = memoryview(out).cast("B")
        target = (ctypes.c_char * view.nbytes).from_buffer(view) if view.nbytes else None
        self._checked(self._lib.jitc_boundaries_read(self._open(), boundary, row.index, target, view.nbytes))

    def read(self, boundary: int, row: Row) -> bytes:
        """Returns the content of a row as new bytes."""
        out = bytearray(row.size)
        self.read_into(boundary, row, out)
        return bytes(out)

    def _open(self) -> ctypes.c_void_p:
        if not self._handle:
            raise BoundaryError("these files were closed")
        return self._handle

    def _checked(self, code: int) -> int:
        if code < 0:
            raise BoundaryError(self._message())
        return code

    def _message(self) -> str:
        text: bytes = self._lib.jitc_boundaries_message() or b""
        return text.decode(errors="replace")
