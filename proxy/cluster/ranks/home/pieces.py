"""Pieces of transfer memory that two nodes have under one number, and the way of their content from one to the other.

Called by: ../methods.py, for leaders and other homes; ../leader/memory.py, for what the leader has itself. Promises:
what arrives is what was sent, or it is refused: each chunk has a hash, and the whole has one; nothing is written beyond
a piece, nor by a node that was not named when the piece was made; a piece goes with the term of the leader that has it
made, at the latest.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jitc.v1 import peer_pb2

from ....common.shared_memory import NoSpace
from ....node.registry import Registry
from ....node.transfer_memory import TransferMemory

CHUNK_BYTES = 256 << 10
#: Pieces at a time: a recovery has two.
PIECES_MOST = 256


class WrongPiece(Exception):
    """A piece cannot be made, sent or taken in; the text says why."""


@dataclass(frozen=True)
class _Piece:
    memory: TransferMemory
    session: int  # for which it was made
    term: int
    source: str  # the node that may fill it; empty: none


class Pieces:
    """The pieces of this node. Thread-safe."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._lock = threading.Lock()
        self._pieces: dict[int, _Piece] = {}

    def make(self, target: peer_pb2.Target, number: int, size: int, source: str) -> None:
        """Makes a piece, unless it is there. Raises NoSpace, WrongPiece."""
        with self._lock:
            self._drop_ended()
            known = self._pieces.get(number)
            if known is not None and known.memory.size == size and known.term == target.term:
                return
            if known is not None or len(self._pieces) >= PIECES_MOST:
                raise NoSpace(f"no room for a piece more: {PIECES_MOST} are in use, or this one is another one's")
            memory = self._registry.transfer_memories.make("transfer", size, number)
            self._pieces[number] = _Piece(memory, target.session, target.term, source)

    def drop(self, number: int) -> None:
        with self._lock:
            found = self._pieces.pop(number, None)
            if found is not None:
                found.memory.close()

    def drop_others(self, session: int, term: int) -> None:
        """Drops what was made for the session in another term."""
        with self._lock:
            old = [number for number, one in self._pieces.items() if one.session == session and one.term != term]
        for number in old:
            self.drop(number)

    def close(self) -> None:
        for number in list(self._pieces):
            self.drop(number)

    def chunks(self, number: int, size: int) -> Iterator[peer_pb2.PieceChunk]:
        """Returns the first bytes of a piece, as messages. Raises WrongPiece, also while it is read."""
        there = self._piece(number).memory.size
        if not 0 < size <= there:
            raise WrongPiece(f"a piece of {there} bytes was to send {size}")
        return self._chunks(number, size)

    def _chunks(self, number: int, size: int) -> Iterator[peer_pb2.PieceChunk]:
        whole = hashlib.blake2b(digest_size=16)
        for offset in range(0, size, CHUNK_BYTES):
            data = self._read(number, offset, min(CHUNK_BYTES, size - offset))
            whole.update(data)
            last = offset + len(data) >= size
            yield peer_pb2.PieceChunk(
                number=number, offset=offset, data=data, hash=hash_of(data), bytes=size,
                whole=whole.digest() if last else b"",
            )  # fmt: skip

    def take(self, node: str, chunks: Iterable[peer_pb2.PieceChunk]) -> None:
        """Takes in what another node sends. Raises WrongPiece."""
        whole, end, number, size = hashlib.blake2b(digest_size=16), 0, 0, 0
        for one in chunks:
            number, size = (one.number, one.bytes) if not end else (number, size)
            self._check(node, one, (number, size, end))
            self._write(number, end, one.data)
            whole.update(one.data)
            end += len(one.data)
            if end == size:
                if one.whole != whole.digest():
                    raise WrongPiece("the content of a piece is not what was sent")
                return
        raise WrongPiece(f"a piece ended after {end} of {size} bytes")

    # -- parts ------------------------------------------------------------------------------------

    def _drop_ended(self) -> None:
        """Drops what was made for sessions that have ended."""
        for number, one in list(self._pieces.items()):
            if one.session and one.session not in self._registry.sessions:
                self._pieces.pop(number).memory.close()

    def _check(self, node: str, chunk: peer_pb2.PieceChunk, expected: tuple[int, int, int]) -> None:
        number, size, end = expected
        piece = self._piece(number)
        if piece.source != node:
            raise WrongPiece(f"node {node} was not named as the one that fills this piece")
        if (chunk.number, chunk.bytes, chunk.offset) != expected or size > piece.memory.size:
            raise WrongPiece("a chunk is out of order, or of another piece")
        if not 0 < len(chunk.data) <= min(CHUNK_BYTES, size - end):
            raise WrongPiece(f"a chunk has {len(chunk.data)} bytes, of {size - end} that were left")
        if hash_of(chunk.data) != chunk.hash:
            raise WrongPiece("the content of a chunk is not what was sent")

    def _piece(self, number: int) -> _Piece:
        with self._lock:
            found = self._pieces.get(number)
        if found is None:
            raise WrongPiece("there is no such piece, or it was given up")
        return found

    def _read(self, number: int, offset: int, size: int) -> bytes:
        try:
            data = self._piece(number).memory.read(offset, size)
        except OSError as error:
            raise WrongPiece(f"a piece was given up: {error}") from None
        if len(data) != size:
            raise WrongPiece("a piece is shorter than was said")
        return data

    def _write(self, number: int, offset: int, data: bytes) -> None:
        try:
            self._piece(number).memory.write(offset, data)
        except OSError as error:
            raise WrongPiece(f"a piece cannot be written: {error}") from None


def hash_of(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
