"""Validations of jobs that this node leads, for commands on other nodes.

Called by: ../methods.py. Promise: a question that is asked again is about the same validation.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable

from jitc.v1 import peer_pb2

from ....ranks.events import PendingValidation

#: Time after which a question is answered with "ask again".
WAIT_SECONDS = 10.0
#: Validations that are remembered.
KEPT = 64


class Validations:
    """The validations that were asked for. begin: has the job of a session validated."""

    def __init__(self, begin: Callable[[int], PendingValidation]) -> None:
        self._begin = begin
        self._lock = threading.Lock()
        self._pending: OrderedDict[bytes, PendingValidation] = OrderedDict()

    def ask(self, request: peer_pb2.ValidateJobRequest) -> peer_pb2.ValidateJobReply:
        """Waits for a while."""
        with self._lock:
            pending = self._pending.get(request.call)
            if pending is None:
                pending = self._pending[request.call] = self._begin(request.session)
                while len(self._pending) > KEPT:
                    self._pending.popitem(last=False)
        if not pending.done.wait(WAIT_SECONDS):
            return peer_pb2.ValidateJobReply()
        return peer_pb2.ValidateJobReply(done=True, json=json.dumps(pending.document), refusal=pending.refusal)
