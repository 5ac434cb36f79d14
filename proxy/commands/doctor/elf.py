"""The head of an executable file: kind, processor, loader, and whether it has a CUDA runtime linked in.

Called by: program.py, runtime.py. Promises: nothing is run; a file that is cut off or made up is no ELF file, and
raises nothing; a large file is not read into memory.
"""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_MAGIC, _CLASS_64, _LITTLE = b"\x7fELF", 2, 1
_X86_64 = 62
_HEAD = 64
_HEADER, _SEGMENT = struct.Struct("<16xHHIQQQIHHH"), struct.Struct("<IIQQQQQQ")
_INTERPRETER, _PATH_MOST = 3, 4096
#: Both are texts of each CUDA runtime, also in a file without symbols: a function of the driver that only a runtime
#: looks up (interpose/api/common/guard.cpp), and the name of an error.
_OF_A_RUNTIME = (b"cuGetExportTable\0", b"cudaErrorInsufficientDriver\0")


@dataclass(frozen=True)
class Elf:
    """An ELF file. loader: that it asks for; empty: none, as for a library or a static program."""

    bits: int
    ours: bool  # for this kind of processor
    loader: str


def read(path: Path) -> Elf | None:
    """Returns None for another kind of file. Raises OSError."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
        if len(head) < _HEAD or not head.startswith(_MAGIC):
            return None
        if head[4] != _CLASS_64 or head[5] != _LITTLE:
            return Elf(64 if head[4] == _CLASS_64 else 32, False, "")
        _, machine, _, _, table, _, _, _, size, count = _HEADER.unpack_from(head)
        segments = _at(file, table, _SEGMENT.size * count) if size == _SEGMENT.size else b""
        for kind, _, place, _, _, length, _, _ in _SEGMENT.iter_unpack(segments):
            if kind == _INTERPRETER:
                name = _at(file, place, min(length, _PATH_MOST)).split(b"\0")[0]
                return Elf(64, machine == _X86_64, name.decode(errors="replace"))
        return Elf(64, machine == _X86_64, "")


def _at(file: BinaryIO, place: int, length: int) -> bytes:
    """Returns a part of the file; empty if it has not all of it."""
    if place + length > os.fstat(file.fileno()).st_size:
        return b""
    file.seek(place)
    return file.read(length)


def has_runtime(path: Path) -> bool:
    """Returns whether the file contains a CUDA runtime. Raises OSError."""
    with path.open("rb") as file:
        if file.read(4) != _MAGIC:
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as contents:
            return all(contents.find(one) >= 0 for one in _OF_A_RUNTIME)
