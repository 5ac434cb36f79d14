"""A relay in front of the service's gRPC servers: it asks the kernel who connects, and connects that user's server.

gRPC for Python can neither say who its peer is nor serve on a socket that is listening already. The relay does both,
and passes the bytes on, unread. Control calls come through it, streams of ops do not.

Called by: entrance.py. Promises: who connects is known before a byte of that connection reaches a server; however much
or little one connection sends or reads, the relay keeps at most CHUNK bytes of each of its directions; nobody takes all
places, and no user's route keeps that of another one waiting; the end of one side is the end of the other, and half an
end is passed on as that; no exception ends the relay; after stop() nothing of it is left but the name of its socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor

from ..common import rpc
from ..common.complaints import Complaints
from ..keeper.peer import Peer, peer_of

#: Bytes that are taken from one side before the other side has taken them all: a call's size, more or less.
CHUNK = 1 << 16
#: Connections at a time: as many as one server has (rpc.py).
CONNECTIONS = 1024
#: Connections of one user at a time, so that several users must agree to keep another one away; a training process has
#: one or two.
FOR_ONE = 256
#: Descriptors of one connection in this process: two here, and the server's.
DESCRIPTORS = 3
#: Threads for routes: each may start a server, and one user has one of them at a time.
ROUTES = 8
#: Until a server must have accepted: a crowd may be ahead in its queue.
CONNECT_SECONDS = 5
#: Without accepting, when the process has no more descriptors: those that wait stay in the kernel's queue.
PAUSE_SECONDS = 0.25
START_SECONDS, STOP_SECONDS = 30.0, 10.0


class Full(Exception):
    """There is no place for another connection; the text says whose, and how many there are."""


class Places:
    """The places for connections, and who has them. For one thread."""

    def __init__(self) -> None:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        share = soft // rpc.SHARE // DESCRIPTORS if soft != resource.RLIM_INFINITY else CONNECTIONS
        self._most = max(1, min(CONNECTIONS, share))
        # Of few places too, one user leaves half.
        self._for_one = min(FOR_ONE, (self._most + 1) // 2)
        self._taken: dict[int, int] = {}
        self._routing: dict[int, asyncio.Lock] = {}

    @contextlib.contextmanager
    def one(self, uid: int) -> Iterator[asyncio.Lock]:
        """Surrounds a connection of this user's, and gives the lock that all of the user's routes share. Raises Full.

        Of one user's routes one is asked for at a time, and the threads for them are left for others.
        """
        had = self._taken.get(uid, 0)
        if had >= self._for_one:
            raise Full(f"user {uid} has {had} connections, and one user may have no more")
        if sum(self._taken.values()) >= self._most:
            raise Full(f"there are {self._most} connections, and there may be no more")
        self._taken[uid] = had + 1
        try:
            yield self._routing.setdefault(uid, asyncio.Lock())
        finally:
            self._taken[uid] -= 1
            if not self._taken[uid]:
                del self._taken[uid], self._routing[uid]


class Relay:
    """Owns the listening socket. route: returns the path of the socket at which a peer's server listens, or None for a
    peer that is sent away. It is called in threads of its own, and may block a little, and raise."""

    def __init__(self, listener: socket.socket, route: Callable[[Peer], str | None]) -> None:
        listener.setblocking(False)
        self._listener, self._route = listener, route
        self._complaints, self._places = Complaints("jitc-relay"), Places()
        self._routes = ThreadPoolExecutor(ROUTES, "jitc-relay-route")
        self._connections: set[asyncio.Task[None]] = set()
        self._ready: Future[None] = Future()
        self._stop: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="jitc-relay", daemon=True)

    def start(self) -> None:
        """Begins to accept. Raises OSError if this process has no descriptors for it."""
        self._thread.start()
        self._ready.result(START_SECONDS)

    def stop(self) -> None:
        """Closes the socket and all connections, and waits until that is done; a route that blocks is not waited for
        long."""
        with contextlib.suppress(InvalidStateError):
            self._stop.set_result(None)
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)
        self._listener.close()

    def _run(self) -> None:
        # The socket is closed first: routes may take a while.
        with self._routes, self._listener:
            try:
                asyncio.run(self._serve())  # which cancels the connections at its end, and waits for them
            except Exception as error:
                if self._ready.done():
                    raise
                self._ready.set_exception(error)

    async def _serve(self) -> None:
        self._listen()
        self._ready.set_result(None)
        await asyncio.wrap_future(self._stop)
        asyncio.get_running_loop().remove_reader(self._listener)

    def _listen(self) -> None:
        if not self._stop.done():
            asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        """Takes one connection. After a failure the loop would call again at once, for as long as the reason stays."""
        loop = asyncio.get_running_loop()
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return
        except OSError as error:
            self._complaints.of(error)
            loop.remove_reader(self._listener)
            loop.call_later(PAUSE_SECONDS, self._listen)
            return
        connection.setblocking(False)
        task = loop.create_task(self._relayed(connection))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        # Not in the task, which does not begin if the relay is stopped now.
        task.add_done_callback(lambda _: connection.close())

    async def _relayed(self, connection: socket.socket) -> None:
        try:
            peer = peer_of(connection)
            with self._places.one(peer.uid) as routing:
                async with routing:
                    server = await self._opened(peer)
                if server is not None:
                    with server:
                        await _both(connection, server)
        except Exception as error:
            self._complaints.of(error)

    async def _opened(self, peer: Peer) -> socket.socket | None:
        """Returns a connection to the peer's server; None for a peer that is sent away."""
        opening = self._routes.submit(self._open, peer)
        try:
            return await asyncio.wrap_future(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_close)
            raise

    def _open(self, peer: Peer) -> socket.socket | None:
        path = self._route(peer)
        if path is None:
            return None
        with contextlib.ExitStack() as failed:
            server = failed.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            # A nonblocking one, or one with Python's timeout, fails at once if the server's queue is full.
            server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", CONNECT_SECONDS, 0))
            try:
                server.connect(path)
            except OSError as error:
                if error.errno is not None:  # another text would lose its words
                    error.filename = path
                raise
            server.setblocking(False)
            failed.pop_all()
            return server


def _close(opening: Future[socket.socket | None]) -> None:
    """Closes a connection that came when nobody waited for it any more."""
    if not opening.cancelled() and not opening.exception() and (server := opening.result()):
        server.close()


async def _both(one: socket.socket, other: socket.socket) -> None:
    """Passes bytes on in both directions until both have ended, or one has failed."""
    pumps = [asyncio.create_task(_pump(*ends)) for ends in ((one, other), (other, one))]
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for pump in pumps:
            pump.cancel()
        # The sockets are closed after this, and their numbers may belong to others then.
        await asyncio.gather(*pumps, return_exceptions=True)


async def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Passes bytes on until the source has ended. Raises OSError if nothing can be sent to the source either."""
    loop = asyncio.get_running_loop()
    while data := await loop.sock_recv(source, CHUNK):
        await loop.sock_sendall(sink, data)
        # Neither of these gives way to other connections while there is more to read, and room for it.
        await asyncio.sleep(0)
    if _hung_up(source):
        raise ConnectionResetError("the other end has closed the connection")
    sink.shutdown(socket.SHUT_WR)


def _hung_up(connection: socket.socket) -> bool:
    """Returns whether the other end is closed altogether, and not just for writing."""
    poll = select.poll()
    poll.register(connection, 0)  # a hang-up is reported unasked
    return bool(poll.poll(0))
