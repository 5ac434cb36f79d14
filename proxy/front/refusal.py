"""A server that refuses every call with the same text.

Called by: entrance.py. Promise: a client prints the text, as that of any other refusal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc

from ..common.rpc import refuse


def refuses_all(code: grpc.StatusCode, why: str) -> Callable[[grpc.Server], None]:
    """Returns what makes a server such a one."""

    def answer(request: bytes, context: Any) -> bytes:
        refuse(context, code, why)

    class Refuses(grpc.GenericRpcHandler):  # type: ignore[type-arg]
        def service(self, details: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(answer, request_deserializer=bytes)

    return lambda server: server.add_generic_rpc_handlers([Refuses()])
