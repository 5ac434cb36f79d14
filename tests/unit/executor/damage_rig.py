"""Damage for tests: single bits of kept memory that change while no worker looks."""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace

from executor_rig import Client, Shared

#: Places per kind of kept state.
PLACES = 50
#: docs/journal.md
CHUNK = (4 << 20) + (64 << 10)
HEADER, RECORD = struct.Struct("<8sIIQQQQQQQQ"), struct.Struct("<IHHIHHQQ")
CHUNK_END = 6


def crc32c(data: bytes) -> int:
    """By the definition: Castagnoli's polynomial, reflected."""
    table = list(range(256))
    for _ in range(8):
        table = [value >> 1 ^ (0x82F63B78 if value & 1 else 0) for value in table]
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ table[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


@dataclass(frozen=True)
class Flip:
    """One bit of one piece of memory."""

    memory: str
    offset: int
    bit: int

    def apply(self, shared: Shared) -> None:
        """Twice is as before."""
        fd = shared.fds[self.memory]
        (byte,) = os.pread(fd, 1, self.offset)
        os.pwrite(fd, bytes([byte ^ 1 << self.bit]), self.offset)


def places(memory: str, ranges: list[tuple[int, int]], seed: int = 1, count: int = PLACES) -> list[Flip]:
    """Bits anywhere in these ranges (from, to); the same for the same seed."""
    rng, total = random.Random(seed), sum(end - start for start, end in ranges)
    assert total > 0
    found = []
    for place in sorted(rng.randrange(8 * total) for _ in range(count)):
        byte = place // 8
        for start, end in ranges:
            if byte < end - start:
                found.append(Flip(memory, start + byte, place % 8))
                break
            byte -= end - start
    return found


def written(fd: int) -> list[tuple[int, int]]:
    """Where a sparse piece of memory has content."""
    found, at, size = [], 0, os.fstat(fd).st_size
    while at < size:
        try:
            start = os.lseek(fd, at, os.SEEK_DATA)
        except OSError:  # nothing more
            break
        at = os.lseek(fd, start, os.SEEK_HOLE)
        found.append((start, at))
    return found


class Kept:
    """A session's memory as it is now, to be put back any number of times. No worker may have it open."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.content = {
            name: [(start, os.pread(fd, end - start, start)) for start, end in written(fd)]
            for name, fd in shared.fds.items()
            if name != "pinned"  # the program's, and sealed
        }

    def put_back(self) -> None:
        for name, pieces in self.content.items():
            fd = self.shared.fds[name]
            os.ftruncate(fd, 0)
            os.ftruncate(fd, self.shared.sizes[name])
            for start, data in pieces:
                os.pwrite(fd, data, start)


class Journal:
    """A journal as its format says, read by hand."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        head = os.pread(shared.fds["journal"], HEADER.size, 0)
        _, _, _, chunk, self.inside, outside, head_word, tail_word, *_ = HEADER.unpack(head)
        assert chunk == CHUNK
        self.chunks = self.inside + outside
        self.head, self.tail = head_word >> 8, tail_word >> 8
        most = (shared.sizes["journal"] + shared.sizes["spill"]) // CHUNK
        self.data = -(-(HEADER.size + 4 * most) // 4096) * 4096

    def used_header(self) -> list[tuple[int, int]]:
        """The fields, and the list entries of chunks in use."""
        entries = [number % self.chunks for number in range(self.head // CHUNK, -(-self.tail // CHUNK))]
        return [(0, HEADER.size), *((HEADER.size + 4 * one, HEADER.size + 4 * one + 4) for one in entries)]

    def place(self, position: int) -> tuple[str, int]:
        """The piece of memory, and where in it."""
        entry = HEADER.size + 4 * (position // CHUNK % self.chunks)
        (physical,) = struct.unpack("<I", os.pread(self.shared.fds["journal"], 4, entry))
        if physical < self.inside:
            return "journal", self.data + physical * CHUNK + position % CHUNK
        return "spill", (physical - self.inside) * CHUNK + position % CHUNK

    def records(self, start: int | None = None) -> Iterator[tuple[int, str, int, int]]:
        """From a record on: kind, memory, offset and bytes of each."""
        position = self.head if start is None else start
        while position < self.tail:
            if position % CHUNK + RECORD.size > CHUNK:
                position = -(-position // CHUNK) * CHUNK
                continue
            memory, offset = self.place(position)
            _, kind, _, size, _, _, own, _ = RECORD.unpack(os.pread(self.shared.fds[memory], RECORD.size, offset))
            assert own == position
            yield kind, memory, offset, RECORD.size + size
            position += -(-(RECORD.size + size) // 8) * 8
            if kind == CHUNK_END:
                position = -(-position // CHUNK) * CHUNK

    def ranges(self, memory: str, wanted: Callable[[int], bool] = lambda _: True) -> list[tuple[int, int]]:
        return [(at, at + size) for kind, where, at, size in self.records() if where == memory and wanted(kind)]


def clone(client: Client) -> Client:
    """The program as it is now, for another life of its worker."""
    copies = {name: deepcopy(getattr(client, name)) for name in ("kept", "results", "seen", "queued")}
    return replace(client, attached=False, **copies)
