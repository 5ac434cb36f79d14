"""The errand that a validation is which was asked for on another node than the one that leads the job.

Called by: ../router.py. Promise: the validation ends in time, with a document or a refusal.
"""

from __future__ import annotations

import json
import time
from typing import Any

from jitc.v1 import peer_pb2

from ....ranks.events import PendingValidation

#: Time of one question, and of all of them: whoever has asked does not wait for longer.
VALIDATE_SECONDS, ALL_SECONDS = 30.0, 600.0


class Validating:
    """An errand (../errands.py)."""

    method, seconds = "ValidateJob", VALIDATE_SECONDS

    def __init__(self, leader: str, request: peer_pb2.ValidateJobRequest, pending: PendingValidation) -> None:
        self.node, self._request, self._pending = leader, request, pending
        self._until = time.monotonic() + ALL_SECONDS

    def request(self) -> Any | None:
        if time.monotonic() >= self._until and not self._pending.done.is_set():
            self._pending.refuse(f"node {self.node}, which leads the job, has not answered")
        return None if self._pending.done.is_set() else self._request

    def answered(self, reply: Any) -> float | None:
        if not reply.done:
            return 0.0
        if reply.refusal:
            self._pending.refuse(reply.refusal)
        else:
            self._pending.document = _read(reply.json)
            self._pending.done.set()
        return None

    def late(self, why: str) -> None:
        """Lets the errand be asked again."""


def _read(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
        return found if isinstance(found, dict) else {}
    except (ValueError, RecursionError):
        return {}
