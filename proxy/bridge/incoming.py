"""The streams from other nodes: their frames, written to this node's segments and board.

Called by: the gRPC server of the bridge, which has admitted the caller by its certificate. Promises: a node has one
stream, the newest, and takes the threads of few others; when it breaks, or brings what is no frame, all segments with
ranks of that node are cut; frames of a stream that has been replaced are not written. An empty batch ends a stream of
which nothing is missing (outgoing.py).
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import grpc

from jitc.v1 import bridge_pb2

from ..cluster.peers.admission import peer_of
from ..common.printable import LINE, printable
from ..common.rpc import refuse
from .mirror import Malformed, Mirror

#: Streams of one node that newer ones have replaced, and that have not ended by themselves yet.
REPLACED_MOST = 2
#: A reason is said again when a stream has lasted so long.
QUIET_SECONDS = 1.0

#: Returns the number of a node with which this one has jobs in common; None: it has none.
NumberOf = Callable[[str], int | None]


class _End(NamedTuple):
    """The end of a stream. code: what its sender is answered; None: nothing is wrong."""

    code: grpc.StatusCode | None
    why: str = ""


_WHOLE = _End(None)
_REPLACED = _End(grpc.StatusCode.ABORTED, "a newer stream of this node has replaced this one")
_BROKEN = _End(grpc.StatusCode.ABORTED, "its bridge has ended, or cannot be reached")


class _Source:
    """Another node. lock: held while its frames are written, and while its stream changes."""

    def __init__(self, number: int, node: str) -> None:
        self.number, self.node = number, node
        self.lock = threading.Lock()
        self.newest: Any = None  # the context of the stream
        self.replaced: list[Any] = []  # contexts of the streams before, until they have ended
        self.since = 0.0
        self.said = ""


class Incoming:
    """The service `Frames`."""

    def __init__(self, mirror: Mirror, number_of: NumberOf) -> None:
        self._mirror, self._number_of = mirror, number_of
        self._lock = threading.Lock()
        self._sources: dict[int, _Source] = {}

    def receives(self, peer: int) -> bool:
        """Returns whether the node's stream is open."""
        with self._lock:
            source = self._sources.get(peer)
        return source is not None and source.newest is not None

    def Send(self, batches: Iterator[Any], context: Any) -> Iterator[Any]:
        node = peer_of(context).node
        number = self._number_of(node)
        if number is None:
            text = f"node {node} has no job in common with this one, as far as this one knows yet"
            refuse(context, grpc.StatusCode.UNAVAILABLE, text)
        with self._lock:
            source = self._sources.setdefault(number, _Source(number, node))
        self._begin(source, context)
        end = _BROKEN
        try:
            yield bridge_pb2.FrameBatch()
            end = self._received(source, batches, context)
        finally:
            self._end(source, context, end)
        if end.code is not None:
            refuse(context, end.code, printable(end.why, LINE))

    def _received(self, source: _Source, batches: Iterator[Any], context: Any) -> _End:
        """Writes what comes. Returns how the stream has ended."""
        while True:
            try:
                batch = next(batches, None)
            except Exception as error:  # the stream was cut
                return _BROKEN._replace(why=str(error) or _BROKEN.why)
            if batch is None:  # gRPC's end, also of a connection that has broken
                return _BROKEN
            if not batch.frames:
                return _WHOLE
            try:
                if not self._written(source, batch.frames, context):
                    return _REPLACED
            except Malformed as error:
                return _End(grpc.StatusCode.INVALID_ARGUMENT, f"it has sent what is no frame: {error}")
            except Exception as error:
                return _End(grpc.StatusCode.INTERNAL, f"its frames cannot be written: {error}")

    def _written(self, source: _Source, frames: bytes, context: Any) -> bool:
        """Returns False if the stream has been replaced."""
        with source.lock:
            if source.newest is not context:
                return False
            self._mirror.apply(source.number, frames)
        return True

    def _begin(self, source: _Source, context: Any) -> None:
        with source.lock:
            before, source.newest, source.since = source.newest, context, time.monotonic()
            if before is not None:
                source.replaced.append(before)
                self._cut(source, f"node {source.node} has opened another stream")
            surplus, source.replaced = source.replaced[:-REPLACED_MOST], source.replaced[-REPLACED_MOST:]
        for one in surplus:
            one.cancel()

    def _end(self, source: _Source, context: Any, end: _End) -> None:
        with source.lock:
            if source.newest is not context:
                source.replaced = [one for one in source.replaced if one is not context]
                return
            source.newest = None
            if end.code is None:
                return
            text = f"the connection from node {source.node} has broken: {printable(end.why, LINE)}"
            self._say(source, text)
            self._cut(source, text)

    def _cut(self, source: _Source, text: str) -> None:
        try:
            self._mirror.cut(source.number, text)
        except Exception as error:
            self._say(source, f"segments cannot be cut: {printable(str(error), LINE)}")

    def _say(self, source: _Source, text: str) -> None:
        """Prints a line, unless it is the one before of streams that break at once."""
        if text == source.said and time.monotonic() - source.since < QUIET_SECONDS:
            return
        source.said = text
        print(f"jitc-bridge: {text}", file=sys.stderr, flush=True)
