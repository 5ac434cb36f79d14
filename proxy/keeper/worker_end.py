"""A worker's end of its connection to the keeper: it receives shared memory by name.

Called by: the worker, which inherits the connection from the keeper, its parent. Thread-safe. Promises: a descriptor is
the caller's, who closes it; a name that the keeper does not have is left out; the keeper's end is not reported to a
program, since the kernel ends the worker with it, a moment later.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence

from . import protocol

#: Time for the kernel to end this process when its connection has ended.
ENDING_SECONDS = 5.0


class NoMemory(Exception):
    """The keeper gives no memory; the text says why."""


class WorkerEnd:
    """Owns the connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = protocol.roomy(connection)
        self._asking = threading.Lock()

    def take(self, names: Sequence[str]) -> dict[str, int]:
        """Returns descriptors of those that the keeper has, at most protocol.DESCRIPTORS. Raises NoMemory."""
        with self._asking:
            try:
                protocol.send(self._connection, {"take": list(names)})
                answer, descriptors = protocol.receive(self._connection)
            except (protocol.Closed, protocol.Malformed) as error:
                if isinstance(error, protocol.Closed):
                    threading.Event().wait(ENDING_SECONDS)
                raise NoMemory(f"jitc-keeper does not answer ({error})") from None
        if protocol.TOO_MANY in answer:
            raise NoMemory("this worker can have no more descriptors (ulimit -n)")
        return dict(zip(answer["taken"], descriptors, strict=True))
