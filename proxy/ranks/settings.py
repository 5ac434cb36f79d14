"""Sends a setting to the worker of a session, such as how its blocks are kept.

Called by: the code that protects ranks, whenever a setting changes and when a worker was rebuilt. Promise: a dying
worker takes no setting, silently (the one that follows it gets it); a refusal by a living one is reported.
"""

from __future__ import annotations

import sys
from typing import Any

import grpc

from .rank import Rank

CALL_SECONDS = 10.0


def have_taken(session: Rank, method: str, request: Any, what: str) -> None:
    """Has the worker take the setting. method: of worker.proto; what: its name in a refusal."""
    try:
        if session.worker is not None:
            session.worker.ask(method, request, CALL_SECONDS).result()
    except grpc.RpcError as error:
        if session.worker is not None and session.worker.alive():
            print(f"jitc-proxyd: {what} of {session.label()}: {error}", file=sys.stderr)
