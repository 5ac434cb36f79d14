"""Other workers for sessions of this node whose job another node recovers.

Called by: ../methods.py. Promises: a question that is asked again gets the answer of the first one, and makes no other
worker; a worker that comes when its leader does not lead any more, or has asked anew, is ended.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import grpc

from jitc.v1 import peer_pb2

from ....node.registry import Registry
from ....node.session import Session
from ....node.workers.assign import Replacements
from ....ranks.rank import NoWorker
from ..documents import ms
from .calls import Calls
from .following import Following, Refused
from .reports import Reports

#: Time after which a question is answered with "ask again".
WAIT_SECONDS = 20.0


class _NotWanted(Exception):
    """Raised when nobody wants the worker any more."""


@dataclass(eq=False)
class _Rebuild:
    """The making of one worker."""

    call: bytes
    done: threading.Event = field(default_factory=threading.Event)
    reply: peer_pb2.ReplaceWorkerReply = field(default_factory=peer_pb2.ReplaceWorkerReply)


class Rebuilding:
    """The workers that are being made."""

    def __init__(
        self, registry: Registry, following: Following, replacements: Replacements, reports: Reports, calls: Calls
    ) -> None:  # fmt: skip
        self._registry, self._following, self._replacements = registry, following, replacements
        self._reports, self._calls = reports, calls
        self._running: dict[int, _Rebuild] = {}  # the newest, by session; guarded by the registry's lock

    def replace(self, node: str, request: peer_pb2.ReplaceWorkerRequest) -> peer_pb2.ReplaceWorkerReply:
        """Gives the session another worker; waits for a while. Raises Refused."""
        with self._registry.changed:
            note = request.note if request.HasField("note") else None
            session, away = self._following.taken(node, request.target, note)
            running = self._running.get(session.number)
            if running is None or running.call != request.call:
                running = self._begin(session, node, request)
            noted = away.noted
        reply = peer_pb2.ReplaceWorkerReply()
        if running.done.wait(WAIT_SECONDS):
            reply.CopyFrom(running.reply)
            reply.now_ms = ms(time.monotonic())
        else:
            reply.pending = True
        reply.home.noted = noted
        return reply

    def _begin(self, session: Session, node: str, request: peer_pb2.ReplaceWorkerRequest) -> _Rebuild:
        for number in self._running.keys() - self._registry.sessions.keys():
            del self._running[number]
            self._calls.rebuilt.discard(number)
        running = self._running[session.number] = _Rebuild(request.call)
        arguments = running, session, node, request.target
        threading.Thread(target=self._run, args=arguments, name="jitc-rebuild", daemon=True).start()
        return running

    def _run(self, running: _Rebuild, session: Session, node: str, target: peer_pb2.Target) -> None:
        try:
            running.reply.CopyFrom(self._made(running, session, node, target))
        except NoWorker as error:
            running.reply.no_worker, running.reply.home.text = True, str(error)
        except _NotWanted as error:
            running.reply.home.code, running.reply.home.text = grpc.StatusCode.ABORTED.value[0], str(error)
        except Refused as error:
            running.reply.home.code, running.reply.home.text = error.code.value[0], error.text
        except Exception as error:
            running.reply.home.code, running.reply.home.text = grpc.StatusCode.INTERNAL.value[0], f"a defect: {error!r}"
        finally:
            running.done.set()

    def _made(
        self, running: _Rebuild, session: Session, node: str, target: peer_pb2.Target
    ) -> peer_pb2.ReplaceWorkerReply:  # fmt: skip
        notes: list[str] = []
        former = session.worker

        def wanted() -> None:
            there = self._registry.sessions.get(session.number) is session
            if not there or self._running.get(session.number) is not running:
                raise _NotWanted("the session has ended, or another worker was asked for since")
            if not self._following.leads(node, target):
                raise _NotWanted(f"node {node} does not lead this job any more")

        self._replacements.replace(session, notes, wanted)
        if former is not None and not former.alive():
            former.close()
        with self._registry.changed:
            self._calls.rebuilt.add(session.number)
            self._registry.note(session)
            _, away = self._following.taken(node, target)
        return peer_pb2.ReplaceWorkerReply(notes=notes, session=self._reports.document(session, away))
