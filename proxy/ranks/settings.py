"""Has the worker of a session take a setting, such as how its blocks are kept.

Called by: what protects ranks, whenever a setting is another one and when a worker was rebuilt. Promise: a worker that
is dying takes none, without a word (the one that follows it is told again); that a living one refuses is said.
"""

from __future__ import annotations

import sys
from typing import Any

import grpc

from .rank import Rank

CALL_SECONDS = 10.0


def have_taken(session: Rank, method: str, request: Any, what: str) -> None:
    """method: of worker.proto; what: is named where it is refused."""
    try:
        if session.worker is not None:
            session.worker.ask(method, request, CALL_SECONDS).result()
    except grpc.RpcError as error:
        if session.worker is not None and session.worker.alive():
            print(f"jitc-proxyd: {what} of {session.label()}: {error}", file=sys.stderr)
