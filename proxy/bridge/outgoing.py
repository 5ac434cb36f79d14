"""The stream to one other node: frames of this node's ranks, as they come.

Called by: control.py, which has one for each node. Promises: nothing is collected before the other end has admitted
the stream; when it breaks, what was on its way is lost, and all segments with ranks of that node are cut; a thread
tries again until close(). A stream that is closed sends first what ranks have published before, and then an empty
batch, which says that nothing is missing: neither end cuts anything, or says anything, then.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import grpc

from jitc.v1 import bridge_pb2

from ..cluster.peers.contract import as_metadata
from ..common import rpc
from ..common.printable import LINE, printable
from .mirror import Mirror

#: Wait for frames, after which the stream is looked at; and between attempts to open one.
COLLECT_MS, RETRY_SECONDS = 100, 0.2
#: Time for the other end to admit a stream.
ADMIT_SECONDS = 3.0
#: Time for a stream that is closed to send what is left, and for the thread to end.
LAST_SECONDS, STOP_SECONDS = 3.0, 5.0
#: Time after which it is said that a stream cannot be opened; one that was open for longer may break anew.
QUIET_SECONDS = 1.0
#: Reasons that are remembered as said.
REASONS_MOST = 16


class Peer(NamedTuple):
    """Another node, as the store has it."""

    number: int
    node: str
    address: str
    certificate: str


#: Opens a channel to a node. Raises an exception whose text says why it cannot.
Open = Callable[[Peer], grpc.Channel]


class _Stream:
    """One attempt. Its frames are collected in a thread of gRPC's, which may outlive the stream."""

    def __init__(self) -> None:
        self.call: Any = None
        self.admitted, self.ended = threading.Event(), threading.Event()
        self.whole = False  # all that was collected has arrived
        self.why = ""  # the data path has failed
        self.since = 0.0  # when it was admitted


class Outgoing:
    """A thread, and its stream while there is one."""

    def __init__(self, peer: Peer, own_name: str, mirror: Mirror, open_channel: Open) -> None:
        #: May be set to another address or certificate of the node, for the next stream.
        self.peer = peer
        self._own, self._mirror, self._open = own_name, mirror, open_channel
        self.trouble = ""
        self._stopped = threading.Event()
        self._collecting = threading.Lock()  # held while frames are collected, for a stream that has not ended
        self._stream = _Stream()
        self._since = 0.0  # without a stream
        self._said: set[str] = set()
        self._before: Outgoing | None = None
        self._thread = threading.Thread(target=self._run, name=f"jitc-to-{peer.node}", daemon=True)

    def start(self, before: Outgoing | None = None) -> None:
        """before: one to the same node that has been closed; this one begins when it has ended."""
        self._before = before
        self._thread.start()

    @property
    def sends(self) -> bool:
        """Returns whether the stream is open."""
        return self._stream.admitted.is_set() and not self._stream.ended.is_set()

    def close(self) -> None:
        """Ends the stream when what is left has been sent, and does not wait for that."""
        self._stopped.set()
        if (call := self._stream.call) is None:
            return
        limit = threading.Timer(LAST_SECONDS, call.cancel)
        limit.daemon = True
        limit.start()
        if not call.add_callback(limit.cancel):  # the call is over already
            limit.cancel()

    def join(self) -> None:
        """Waits for the end of the thread, after close()."""
        if self._thread.ident is not None:
            self._thread.join(STOP_SECONDS)

    # -- the thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        if self._before is not None:
            self._before.join()
            self._before = None
        self._since = time.monotonic()
        while not self._stopped.is_set():
            stream = self._stream = _Stream()
            why = "its bridge has ended the stream"
            try:
                self._send_over(stream)
            except Exception as error:  # also of gRPC's channel and of certificates
                why = _text(error)
            self._over(stream, stream.why or why)
            self._stopped.wait(RETRY_SECONDS)

    def _send_over(self, stream: _Stream) -> None:
        """Sends frames until the stream breaks. Raises grpc.RpcError, and what opening a channel raises."""
        with self._open(self.peer) as channel:
            if self._stopped.is_set():
                return
            call = stream.call = rpc.frames(channel).Send(self._batches(stream), metadata=as_metadata(self._own))
            watch = threading.Timer(ADMIT_SECONDS, lambda: stream.admitted.is_set() or call.cancel())
            watch.daemon = True
            watch.start()
            try:
                for _ in call:
                    self.trouble, stream.since = "", time.monotonic()
                    stream.admitted.set()
                stream.whole = self._stopped.is_set() and stream.admitted.is_set()
            finally:
                watch.cancel()

    def _batches(self, stream: _Stream) -> Iterator[Any]:
        """Yields batches once the stream is admitted, until it ends; an empty one is the last of one that is closed."""
        while not stream.admitted.wait(COLLECT_MS / 1000):
            if stream.ended.is_set() or self._stopped.is_set():
                break
        try:
            while (frames := self._collected(stream)) is not None:
                if frames:
                    yield bridge_pb2.FrameBatch(frames=frames)
        except Exception as error:  # gRPC would print a traceback
            stream.why = f"this node's bridge cannot read what ranks publish: {error}"
            stream.call.cancel()
            return
        if not stream.ended.is_set():
            yield bridge_pb2.FrameBatch()

    def _collected(self, stream: _Stream) -> bytes | None:
        """Returns frames, empty if none came; None: none are to come any more."""
        closed = self._stopped.is_set()
        with self._collecting:
            if stream.ended.is_set() or not stream.admitted.is_set():
                return None
            frames = self._mirror.collect(self.peer.number, 0 if closed else COLLECT_MS)
        return frames if frames or not closed else None

    def _over(self, stream: _Stream, why: str) -> None:
        """Notes the end of a stream. Nothing is collected for it any more when this returns."""
        stream.ended.set()
        with self._collecting:
            if stream.whole or (self._stopped.is_set() and not stream.admitted.is_set()):
                return
            self.trouble = printable(why, LINE)
            if stream.admitted.is_set():  # what was collected for it may be lost
                self._broken(f"the connection to node {self.peer.node} has broken: {self.trouble}", stream)
        if not self._stopped.is_set() and time.monotonic() - self._since >= QUIET_SECONDS:
            self._say(f"node {self.peer.node} is not connected: {self.trouble}")

    def _broken(self, text: str, stream: _Stream) -> None:
        """Cuts the segments. Requires the lock."""
        self._since = time.monotonic()
        if self._since - stream.since >= QUIET_SECONDS:
            self._said.clear()
        if not self._stopped.is_set():
            self._say(text)
        try:
            self._mirror.cut(self.peer.number, text)
        except Exception as error:
            self._say(f"segments cannot be cut: {printable(str(error), LINE)}")

    def _say(self, text: str) -> None:
        """Prints a line, once."""
        if text in self._said:
            return
        if len(self._said) >= REASONS_MOST:
            self._said.clear()
        self._said.add(text)
        print(f"jitc-bridge: {text}", file=sys.stderr, flush=True)


def _text(error: Exception) -> str:
    if isinstance(error, grpc.RpcError):
        code, details = rpc.status_of(error)
        return details or code.name
    return str(error) or repr(error)
