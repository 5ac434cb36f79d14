"""TCP relays between addresses, whose traffic a test stops, delays or breaks off.

A link relays from an address of its own to a target. What it cannot show as a network does: a sender's data are
acknowledged by the relay even while they stand still, so TCP_USER_TIMEOUT sees no cut; and a target that refuses a
connection ends it after it was made.

Called by: tests, loopback.py. Promises: when a function here returns, its fault is there; while a link is cut no
connection is made to it, as in a network, and that others have ended is not seen before it is healed; nothing is lost
of a connection but by `drop`.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import socket
import struct
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")
Address = tuple[str, int]
_BACKLOG = 128
_PIECE_BYTES = 65536
#: Pieces that a link holds in each direction of a connection: behind them the sender waits.
_HELD_PIECES = 256
#: Where struct tcp_info says, of a listener, how many connections wait to be accepted, and how many may.
_QUEUE_AT = 24


class Direction(enum.Enum):
    """Directions of a link: from who connects to the target, and back."""

    FORTH = "forth"
    BACK = "back"


class Link:
    """One relay; `Links.open` makes it. All that it has belongs to the loop of its Links."""

    def __init__(self, loop: asyncio.AbstractEventLoop, target: Address) -> None:
        self._loop, self.target = loop, target
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        self._listener.setblocking(False)
        #: Where the target is reached by this link.
        self.address: Address = self._listener.getsockname()
        self._stopped: frozenset[Direction] = frozenset()
        self._delay = 0.0
        self._change = loop.create_future()
        self._plugs: dict[Address, socket.socket] = {}
        self._connections: set[asyncio.Task[None]] = set()
        self._held = 0
        loop.add_reader(self._listener, self._accept)

    def cut(self) -> None:
        """Lets nothing pass, and no connection be made."""
        self.impose(Direction, self._delay)

    def one_way(self, lost: Direction) -> None:
        """Lets nothing pass in this direction; so no connection can be made either."""
        self.impose({lost}, self._delay)

    def delay(self, seconds: float) -> None:
        """Lets everything take so much longer."""
        self.impose(self._stopped, seconds)

    def heal(self) -> None:
        self.impose((), 0.0)

    def impose(self, stopped: Iterable[Direction], delay: float) -> None:
        """Makes these the faults of the link, and no others."""
        _in_loop(self._loop, lambda: self._impose(frozenset(stopped), delay))

    def drop(self) -> None:
        """Resets all connections, at both ends. New ones can be made."""
        _in_loop(self._loop, self._drop)

    def connections(self) -> int:
        return _in_loop(self._loop, lambda: len(self._connections))

    def held(self) -> int:
        """Returns how many connections have something that stands still or takes its time; each direction counts."""
        return _in_loop(self._loop, lambda: self._held)

    # ---- in the loop ----
    def _impose(self, stopped: frozenset[Direction], delay: float) -> None:
        was_open, self._stopped, self._delay = not self._stopped, stopped, delay
        if was_open and stopped:
            self._shut()
        elif not was_open and not stopped:
            self._open()
        self._change.set_result(None)
        self._change = self._loop.create_future()

    def _shut(self) -> None:
        """Fills the queue of the listener, so that the kernel drops the packets of who wants to connect."""
        self._loop.remove_reader(self._listener)
        self._listener.listen(0)
        while self._has_room():
            plug = socket.socket()
            plug.setblocking(False)
            plug.connect_ex(self.address)
            self._plugs[plug.getsockname()] = plug

    def _has_room(self) -> bool:
        info = self._listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _QUEUE_AT + 8)
        waiting, most = struct.unpack_from("II", info, _QUEUE_AT)
        return bool(waiting <= most)

    def _open(self) -> None:
        self._listener.listen(_BACKLOG)
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        try:
            connection, peer = self._listener.accept()
        except OSError:  # it has been given up meanwhile
            return
        if plug := self._plugs.pop(peer, None):
            plug.close()
            connection.close()
            return
        relay = self._loop.create_task(self._relay(_reset_at_end(connection)))
        self._connections.add(relay)

        def done(_: asyncio.Task[None]) -> None:
            self._connections.discard(relay)
            if relay.cancelled():  # before it has begun
                connection.close()

        relay.add_done_callback(done)

    async def _relay(self, near: socket.socket) -> None:
        """Relays a connection until both directions have ended. If the target refuses or this is dropped, both ends
        are reset."""
        far, streams = _reset_at_end(socket.socket()), []
        far.setblocking(False)
        try:
            await self._loop.sock_connect(far, self.target)
            for end in (near, far):
                streams.append(await asyncio.open_connection(sock=end))
            (near_reader, near_writer), (far_reader, far_writer) = streams
            flows = (Direction.FORTH, near_reader, far_writer), (Direction.BACK, far_reader, near_writer)
            await asyncio.gather(*(self._flow(*one) for one in flows))
        except (OSError, asyncio.CancelledError):
            for _, writer in streams:
                writer.transport.abort()
            for end in (near, far)[len(streams) :]:
                end.close()
        else:
            for end, (_, writer) in zip((near, far), streams, strict=True):
                _set_linger(end, False)
                writer.close()

    async def _flow(self, direction: Direction, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relays one direction of a connection, the end included: b"" for an orderly one, None for a reset."""
        held: asyncio.Queue[tuple[float, bytes | None]] = asyncio.Queue(_HELD_PIECES)

        async def take() -> None:
            piece: bytes | None = None
            while piece != b"":
                try:
                    piece = await reader.read(_PIECE_BYTES)
                except OSError:
                    await held.put((self._loop.time(), None))
                    return
                await held.put((self._loop.time(), piece))

        async def give() -> None:
            while True:
                since, piece = await held.get()
                await self._pass(direction, since)
                if piece is None:
                    writer.transport.abort()
                if not piece:
                    with contextlib.suppress(OSError):
                        writer.write_eof()
                    return
                with contextlib.suppress(OSError):  # nobody takes it any more, which the other direction says
                    writer.write(piece)
                    await writer.drain()

        await asyncio.gather(take(), give())

    async def _pass(self, direction: Direction, since: float) -> None:
        """Waits until what came then may pass."""
        self._held += 1
        try:
            while direction in self._stopped or (left := since + self._delay - self._loop.time()) > 0:
                await asyncio.wait([self._change], timeout=None if direction in self._stopped else left)
        finally:
            self._held -= 1

    def _drop(self) -> None:
        for one in self._connections:
            one.cancel()

    async def close(self) -> None:
        """Ends all; in the loop."""
        self._loop.remove_reader(self._listener)
        self._drop()
        await asyncio.gather(*self._connections, return_exceptions=True)
        for one in (self._listener, *self._plugs.values()):
            one.close()


class Links:
    """Links, with a thread that serves them until close()."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._links: list[Link] = []
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="links")
        self._thread.start()

    def __enter__(self) -> Links:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, target: Address) -> Link:
        """Opens a link to where something listens, or will."""
        link = _in_loop(self._loop, lambda: Link(self._loop, target))
        self._links.append(link)
        return link

    def close(self) -> None:
        """Ends all links and their connections. May be called again."""
        if self._loop.is_closed():
            return
        for one in self._links:
            asyncio.run_coroutine_threadsafe(one.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _in_loop(loop: asyncio.AbstractEventLoop, function: Callable[[], T]) -> T:
    """Calls the function in the loop's thread, and waits for its result."""
    future: Future[T] = Future()

    def call() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    loop.call_soon_threadsafe(call)
    return future.result()


def _reset_at_end(one: socket.socket) -> socket.socket:
    """Lets a connection that is closed, for whatever reason, be reset."""
    _set_linger(one, True)
    return one


def _set_linger(one: socket.socket, on: bool) -> None:
    with contextlib.suppress(OSError):  # it was reset
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", on, 0))
