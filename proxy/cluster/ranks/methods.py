"""The methods of the Peer service that are about jobs over nodes.

Called by: gRPC threads of ../peers/server.py, which has admitted the caller; tests. Promises: a request does no more
than its node may ask for; what is wrong with it is said in the answer, and ends nothing; calls that wait have threads
of their own, in which a limited number of them waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import grpc

from jitc.v1 import peer_pb2

from ...common import rpc
from ...common.printable import LINE, printable
from ...common.shared_memory import NoSpace
from ..peers.admission import peer_of
from .errands import Errands
from .home.calls import Calls
from .home.following import Following, Refused
from .home.pieces import Pieces, WrongPiece
from .home.rebuilding import Rebuilding
from .leader.memory import sent
from .leader.table import RemoteTable
from .leader.validations import Validations
from .leadership import Cluster
from .leads import Leads

#: Calls that wait at a time.
CALLS_MOST = 256
#: Sessions that a report or a question names.
NAMED_MOST = 4096
_OK = grpc.StatusCode.OK.value[0]


class Methods:
    """The answers of the service."""

    def __init__(
        self, cluster: Cluster, leads: Leads, table: RemoteTable, *, following: Following, calls: Calls,
        rebuilding: Rebuilding, pieces: Pieces, validations: Validations, errands: Errands,
    ) -> None:  # fmt: skip
        self._cluster, self._leads, self._table = cluster, leads, table
        self._following, self._calls, self._rebuilding = following, calls, rebuilding
        self._pieces, self._validations, self._errands = pieces, validations, errands
        self._waiting = rpc.Waiting("jitc-nodes", CALLS_MOST)

    def install(self, service: Any) -> None:
        """Makes them methods of a service, before a server is made of it."""
        for name, act in self.quick().items():
            setattr(service, name, _answering(act))
        for name, act in self.slow().items():
            setattr(service, name, self._waiting.serve(_answering(act, self._waiting)))

    def close(self) -> None:
        self._waiting.close()

    def quick(self) -> dict[str, Callable[[str, Any], Any]]:
        """Returns the methods that are answered at once, which take the caller's node and the request."""
        return {
            "Report": self._report, "ReportAgain": self._report_again, "Note": self._note, "EndWorker": self._end,
            "MakeMemory": self._make_memory, "DropMemory": self._drop_memory,
        }  # fmt: skip

    def slow(self) -> dict[str, Callable[[str, Any], Any]]:
        """Returns the methods that wait."""
        return {
            "CallWorker": self._call, "ReplaceWorker": self._replace, "Place": self._place, "Carry": self._carry,
            "TakePiece": self._take_piece, "ValidateJob": self._validate,
        }  # fmt: skip

    # -- from homes -------------------------------------------------------------------------------

    def _report(self, node: str, request: peer_pb2.SessionsReport) -> peer_pb2.ReportReply:
        if max(len(request.present), len(request.sessions)) > NAMED_MOST:
            raise ValueError(f"a report names at most {NAMED_MOST} sessions")
        not_led = self._table.take_in(node, request)
        self._leads.wake()
        return peer_pb2.ReportReply(not_led=not_led)

    def _validate(self, node: str, request: peer_pb2.ValidateJobRequest) -> peer_pb2.ValidateJobReply:
        if self._leads.leader_of(request.session) != self._cluster.node:
            text = f"node {self._cluster.node} does not lead the job any more; ask again"
            return peer_pb2.ValidateJobReply(done=True, refusal=text)
        return self._validations.ask(request)

    # -- from leaders -----------------------------------------------------------------------------

    def _report_again(self, node: str, request: peer_pb2.ReportAgainRequest) -> peer_pb2.ReportAgainReply:
        self._leads.again(node, request.sessions[:NAMED_MOST])
        return peer_pb2.ReportAgainReply()

    def _note(self, node: str, request: peer_pb2.NoteRequest) -> peer_pb2.HomeReply:
        return _home(lambda: self._noted(node, request.target, request.note))

    def _call(self, node: str, request: peer_pb2.CallWorkerRequest) -> peer_pb2.CallWorkerReply:
        try:
            reply = self._calls.call(node, request)
        except Refused as refusal:
            return peer_pb2.CallWorkerReply(home=_refused(refusal))
        if request.method == "Resume" and not reply.home.code:
            self._pieces.drop_others(request.target.session, 0)
        return reply

    def _end(self, node: str, request: peer_pb2.EndWorkerRequest) -> peer_pb2.HomeReply:
        return _home(lambda: self._calls.end(node, request))

    def _replace(self, node: str, request: peer_pb2.ReplaceWorkerRequest) -> peer_pb2.ReplaceWorkerReply:
        try:
            return self._rebuilding.replace(node, request)
        except Refused as refusal:
            return peer_pb2.ReplaceWorkerReply(home=_refused(refusal))

    def _place(self, node: str, request: peer_pb2.PlaceRequest) -> peer_pb2.HomeReply:
        def act() -> int:
            noted = self._noted(node, request.target)
            try:
                self._cluster.begin_epoch(request.epoch, {one.session: one.boundary for one in request.places})
            except Exception as error:  # of the bridge: it is about to begin anew, or the board is full
                text = f"what other nodes show cannot be taken in now: {error}"
                raise Refused(grpc.StatusCode.ABORTED, text, noted) from None
            return noted

        return _home(act)

    def _make_memory(self, node: str, request: peer_pb2.MemoryRequest) -> peer_pb2.HomeReply:
        def act() -> int:
            noted = self._noted(node, request.target)
            self._pieces.drop_others(request.target.session, request.target.term)
            try:
                self._pieces.make(request.target, request.number, request.bytes, request.source)
            except NoSpace as error:
                text = f"node {self._cluster.node}: {error}"
                raise Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, text, noted) from None
            return noted

        return _home(act)

    def _drop_memory(self, node: str, request: peer_pb2.MemoryRequest) -> peer_pb2.HomeReply:
        def act() -> int:
            noted = self._noted(node, request.target)
            self._pieces.drop(request.number)
            return noted

        return _home(act)

    def _carry(self, node: str, request: peer_pb2.CarryRequest) -> peer_pb2.HomeReply:
        def act() -> int:
            noted = self._noted(node, request.target)
            try:
                sent(self._errands, self._pieces, request)
            except WrongPiece as error:
                raise Refused(grpc.StatusCode.FAILED_PRECONDITION, str(error), noted) from None
            except grpc.RpcError as error:
                raise Refused(grpc.StatusCode.UNAVAILABLE, rpc.status_of(error)[1], noted) from None
            return noted

        return _home(act)

    def _take_piece(self, node: str, chunks: Iterable[peer_pb2.PieceChunk]) -> peer_pb2.HomeReply:
        try:
            self._pieces.take(node, chunks)
            return peer_pb2.HomeReply()
        except WrongPiece as error:
            return peer_pb2.HomeReply(code=grpc.StatusCode.FAILED_PRECONDITION.value[0], text=str(error))

    def _noted(self, node: str, target: peer_pb2.Target, note: peer_pb2.StateNote | None = None) -> int:
        """Returns the version of the newest state of a session, after this one. Raises Refused."""
        with self._following.lock:
            _, away = self._following.taken(node, target, note)
            return away.noted


def _home(act: Callable[[], int]) -> peer_pb2.HomeReply:
    """Returns the answer to a leader. act: returns the version of the newest state that is known."""
    try:
        return peer_pb2.HomeReply(code=_OK, noted=act())
    except Refused as refusal:
        return _refused(refusal)


def _refused(refusal: Refused) -> peer_pb2.HomeReply:
    return peer_pb2.HomeReply(
        code=refusal.code.value[0], text=printable(refusal.text, LINE), noted=refusal.noted
    )  # fmt: skip


def _answering(act: Callable[[str, Any], Any], waiting: rpc.Waiting | None = None) -> Callable[[Any, Any], Any]:
    """Returns a handler of gRPC's. waiting: limits how many of them wait."""

    def handle(request: Any, context: Any) -> Any:
        try:
            node = peer_of(context).node
            if waiting is None:
                return act(node, request)
            with waiting.seat(context, "ask again"):
                return act(node, request)
        except rpc.Refused:
            raise
        except ValueError as error:
            rpc.refuse(context, grpc.StatusCode.INVALID_ARGUMENT, printable(str(error), LINE))
        except Exception as error:
            rpc.refuse(context, grpc.StatusCode.INTERNAL, printable(repr(error), LINE))

    return handle
