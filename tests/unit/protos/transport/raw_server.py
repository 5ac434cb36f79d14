"""A real grpcio server with raw-bytes methods; run as a program it serves until it is killed.

Echo: every message back. Sum: one reply with the total of bytes when the client has ended. Slow: reads one
message per byte that arrives on standard input. Fail: an error status. Meta: the metadata as text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

ERROR_TEXT = "no such thing: 100 % \u00e4\u00f6 \u2713, two\nlines"
OPTIONS = [
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.max_send_message_length", 65 << 20),  # more than our client takes
    ("grpc.http2.min_ping_interval_without_data_ms", 10),  # as the worker's: PINGs are welcome
    ("grpc.http2.max_ping_strikes", 0),
]


class Handler(grpc.GenericRpcHandler):
    def service(self, details: grpc.HandlerCallDetails) -> Any:
        name = str(details.method).rsplit("/", 1)[-1].lower()
        method = getattr(self, name, None)
        if method is None:
            return None
        if name.startswith("unary"):
            return grpc.unary_unary_rpc_method_handler(method)
        return grpc.stream_stream_rpc_method_handler(method)

    def unary(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        return request

    def unaryfail(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, ERROR_TEXT)
        raise AssertionError

    def unaryhang(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        gone: Any = __import__("threading").Event()
        context.add_callback(gone.set)
        gone.wait(60)
        return b""

    def echo(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        yield from requests

    def fail(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        yield next(requests)
        context.abort(grpc.StatusCode.NOT_FOUND, ERROR_TEXT)

    def meta(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        pairs: Any = context.invocation_metadata()
        yield "\n".join(f"{key}={value}" for key, value in pairs).encode()

    def burst(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        """For each request "count size": so many messages, numbered."""
        for request in requests:
            count, size = map(int, request.split())
            for number in range(count):
                yield number.to_bytes(8, "little") + bytes(size - 8)

    def slow(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        while sys.stdin.buffer.read(1):
            yield str(len(next(requests))).encode()


def serve(path: str) -> grpc.Server:
    server = grpc.server(ThreadPoolExecutor(8), handlers=[Handler()], options=OPTIONS)
    assert server.add_insecure_port(f"unix:{path}")
    server.start()
    return server


if __name__ == "__main__":
    running = serve(sys.argv[1])
    print("ready", flush=True)
    running.wait_for_termination()
