"""Reads the memory of a worker whose device refuses all work, before the worker is killed.

A sticky error makes a device useless, yet its memory can often be read. In peer mode the newest boundary lacks copies
of what other ranks hold as well; here the sick worker makes them itself, in node memory, and the worker that follows it
finds them there. So its state comes back without a replica.

Called by: recoveries, right before they end such workers. Promises: only blocks that are what they were at the boundary
are kept (content hashes confirm it); a worker that can no longer read its memory, or does not answer in time, is ended
like any other, and peers give its state back; never raises.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import grpc

from jitc.v1 import worker_pb2

from ...ranks.rank import Rank

FENCE_SECONDS, KEEP_SECONDS = 10.0, 30.0


def rescue(sessions: Iterable[Rank], epoch: int) -> list[str]:
    """Rescues these sessions, which rely on peers. Returns a line for each with the result."""
    fenced = _ask(
        "Fence", sessions, lambda one: worker_pb2.SessionRequest(session=one.number, epoch=epoch), FENCE_SECONDS
    )
    able = [one for one, answer in fenced if answer is not None]
    kept = _ask(
        "Keep", able,
        lambda one: worker_pb2.RecoverRequest(session=one.number, epoch=epoch, timeout_ms=int(KEEP_SECONDS * 1000)),
        KEEP_SECONDS,
    )  # fmt: skip
    return [_say(one, answer) for one, answer in kept if answer is not None]


def say_kept(label: str, answer: Any) -> None:
    """Reports that a survivor has kept state that a lost rank may need."""
    if not answer.cancelled() and answer.exception() is None:
        message = answer.result().message or f"{answer.result().bytes} bytes"
        print(f"jitc-proxyd: state of peers that {label} holds is copied: {message}", file=sys.stderr, flush=True)


def _ask(method: str, sessions: Iterable[Rank], request: Any, seconds: float) -> list[tuple[Rank, Any]]:
    """Calls all workers at once; the answer is None for one that does not answer or refuses."""
    asked = [
        (one, one.worker.ask(method, request(one), seconds))
        for one in sessions
        if one.worker is not None and one.worker.alive()
    ]
    return [(one, _answer(future)) for one, future in asked]


def _answer(future: Any) -> Any:
    try:
        return future.result()
    except (grpc.RpcError, grpc.FutureCancelledError):
        return None


def _say(session: Rank, reply: Any) -> str:
    text = f"{session.label()}: {reply.bytes} bytes were read out of its worker before it was ended"
    if not reply.complete:
        text = f"{session.label()}: not all of its state could be read out of its worker: {reply.message}"
    print(f"jitc-proxyd: {text}", file=sys.stderr, flush=True)
    return text
