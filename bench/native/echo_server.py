"""A bare gRPC stream server that sends every message back: the floor for a synchronous call.

Usage: echo_server.py SOCKET. Prints one line when ready; ends when its standard input closes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc


class Echo(grpc.GenericRpcHandler):
    def service(self, handler_call_details: Any) -> Any:
        return grpc.stream_stream_rpc_method_handler(self._stream)

    def _stream(self, messages: Iterator[bytes], context: Any) -> Iterator[bytes]:
        yield from messages


def main() -> None:
    server = grpc.server(ThreadPoolExecutor(4), compression=grpc.Compression.NoCompression)
    server.add_generic_rpc_handlers((Echo(),))
    server.add_insecure_port(f"unix:{sys.argv[1]}")
    server.start()
    print("ready", flush=True)
    sys.stdin.read()
    server.stop(0)


if __name__ == "__main__":
    main()
