"""The counters of workers, fetched on demand.

Called by: status, recoveries, policies, validations. Promise: a worker that is dying, or does not answer in time,
yields nothing; it does not hold up the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import grpc

from jitc.v1 import worker_pb2

from .rank import Rank

STATS_SECONDS = 5.0


def stats_of(sessions: Iterable[Rank]) -> dict[int, dict[str, Any]]:
    """Returns the executor's counters of each session, by its number; all workers are asked at once."""
    asked = {}
    for session in sessions:
        worker = session.worker
        if worker is not None and worker.alive():
            asked[session.number] = worker.ask("Stats", worker_pb2.Empty(), STATS_SECONDS)
    return {number: found for number, answer in asked.items() if (found := _of_session(number, answer))}


def session_stats(session: Rank) -> dict[str, Any]:
    """Returns the counters of one session."""
    return stats_of([session]).get(session.number, {})


def _of_session(number: int, answer: Any) -> dict[str, Any]:
    try:
        sessions: list[dict[str, Any]] = json.loads(answer.result().json).get("sessions", [])
        return next((one for one in sessions if one.get("session") == number), {})
    except (grpc.RpcError, grpc.FutureCancelledError):
        return {}
    except (
        ValueError,
        AttributeError,
        TypeError,
        RecursionError,
    ):  # no worker's document: its user may have put it there
        return {}
