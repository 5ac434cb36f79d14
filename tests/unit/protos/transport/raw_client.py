"""Stock grpcio clients in a process of their own, driven from the tests as if they were here.

Run as a program with the path of a socket it serves clients until it is killed. grpcio's own threads are no part of
what the sanitizers watch here: only the tests' process runs under them. Called by: conftest.py.
"""

from __future__ import annotations

import queue
import sys
from collections.abc import Callable
from multiprocessing.managers import BaseManager
from typing import Any

import grpc

OPTIONS = [
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.max_send_message_length", 64 << 20),
    ("grpc.use_local_subchannel_pool", 1),  # a connection of its own
]
KEY = b"jitc"


class Refused(Exception):
    """What the server ended a call with: status (gRPC's number) and text."""

    @property
    def status(self) -> int:
        return int(self.args[0])

    @property
    def text(self) -> str:
        return str(self.args[1])


def _told(action: Callable[[], Any]) -> Any:
    """grpcio's own exceptions cannot leave their process."""
    try:
        return action()
    except grpc.RpcError as error:
        call: Any = error
        raise Refused(call.code().value[0], call.details()) from None


class Client:
    """A stock grpcio client with one stream."""

    def __init__(self, path: str, method: str, metadata: tuple[tuple[str, str], ...] = ()) -> None:
        self._out: queue.Queue[bytes | None] = queue.Queue()
        self._channel = grpc.insecure_channel(f"unix:{path}", options=OPTIONS)
        call: Any = self._channel.stream_stream(method)
        self._replies = call(iter(self._out.get, None), metadata=metadata, timeout=30)

    def send(self, *messages: bytes) -> None:
        for one in messages:
            self._out.put(one)

    def half_close(self) -> None:
        self._out.put(None)

    def reply(self) -> bytes:
        """The next one. Raises Refused."""
        answer: bytes = _told(lambda: next(self._replies))
        return answer

    def rest(self) -> list[bytes]:
        """All that is still to come, until the server ends the call well."""
        answers: list[bytes] = _told(lambda: list(self._replies))
        return answers

    def status(self) -> int:
        return int(self._replies.code().value[0])

    def second_call(self, method: str, message: bytes) -> bytes:
        """The answer to another call on the same connection. Raises Refused."""
        call: Any = self._channel.stream_stream(method)
        answer: bytes = _told(lambda: next(call(iter([message]), timeout=20)))
        return answer

    def close(self) -> None:
        self._out.put(None)
        self._replies.cancel()
        self._channel.close()


class Clients(BaseManager):
    """Makes clients in the other process."""

    Client: Callable[..., Client]


Clients.register("Client", Client)

if __name__ == "__main__":
    import raw_client  # by the name under which the tests know what comes out of it

    running = raw_client.Clients(sys.argv[1], KEY).get_server()  # type: ignore[attr-defined]
    print("ready", flush=True)
    running.serve_forever()
