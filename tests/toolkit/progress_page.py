"""The progress page of ``jitc/progress_page.h``, read as a client does and written as a worker does.

Called by: tests of the executor (as a client) and of the session layer (as a worker).
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from dataclasses import dataclass

OFFSET, PLACES = 4096, 1023
#: What of the pinned memory is not the program's.
RESERVED = OFFSET + 64 * (1 + PLACES)
_PLACE = struct.Struct("<QQII")
_SLEEPERS = struct.Struct("<I")
_READER_AT, _READER = OFFSET + 16, 0x6A69746370616765
_SYS_FUTEX, _FUTEX_WAKE = 202, 1


@dataclass(frozen=True)
class Place:
    stream: int  # + 1
    executed: int
    version: int
    sleepers: int


class Page:
    def __init__(self, fd: int) -> None:
        self._memory = mmap.mmap(fd, RESERVED)
        self._base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))

    @staticmethod
    def at(stream: int) -> int:
        """Where the stream's place is, in the pinned memory."""
        return OFFSET + 64 * (1 + (1 + (stream >> 16) % (PLACES - 1) if stream else 0))

    def place(self, stream: int) -> Place:
        return Place(*_PLACE.unpack_from(self._memory, self.at(stream)))

    def executed(self, stream: int) -> int:
        """0: the page does not say."""
        place = self.place(stream)
        return place.executed if place.stream == stream + 1 and place.version % 2 == 0 else 0

    def announce(self) -> None:
        """As a client does that knows of the page."""
        ctypes.c_uint64.from_address(self._base + _READER_AT).value = _READER

    def is_announced(self) -> bool:
        return ctypes.c_uint64.from_address(self._base + _READER_AT).value == _READER

    def sleepers(self) -> int:
        return int(_SLEEPERS.unpack_from(self._memory, OFFSET)[0])

    def write(self, place: Place, stream: int) -> None:
        """As it is, for the place of that stream; nobody wakes up."""
        _PLACE.pack_into(self._memory, self.at(stream), place.stream, place.executed, place.version, place.sleepers)

    def publish(self, stream: int, sequence: int, wake: bool = True) -> None:
        """As a worker does. The place is the stream's, or free."""
        at = self.at(stream)
        # One word each: sleepers come and go meanwhile.
        ctypes.c_uint64.from_address(self._base + at).value = stream + 1
        ctypes.c_uint64.from_address(self._base + at + 8).value = sequence
        if wake:
            ctypes.c_uint32.from_address(self._base + at + 16).value += 2
            ctypes.CDLL(None).syscall(_SYS_FUTEX, ctypes.c_void_p(self._base + at + 16), _FUTEX_WAKE, 1 << 30, 0, 0, 0)
