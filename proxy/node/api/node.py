"""The Node service: the questions of training processes (Describe, Attach, Detach).

Called by: gRPC threads. Promises: each session gets a worker process of its own, which ends with it; an Attach waits no
longer than its caller allows; an answer was true a moment ago, and a client that finds it outdated asks again; every
refusal says why.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import grpc

from jitc.v1 import control_pb2, worker_pb2

from ...backends import KINDS
from ...common import rpc
from ...common.paths import PROTOCOL_VERSION, op_socket
from ...common.rpc import refuse, version_message
from ...common.shared_memory import NoSpace
from ...keeper.client import Keeper
from ...ranks.rank import NoWorker
from ...ranks.states import SessionEvent, SessionState
from ...ranks.stats import session_stats
from ..fault_injector import FaultInjector
from ..gpus import Gpu
from ..library_environment import Refused, accepted
from ..registry import Full, Registry
from ..session import Session
from ..workers.assign import assign_worker
from ..workers.supervisor import NotYet, Supervisor
from ..workers.watch import Watch
from ..workers.worker import Worker
from .programs import Programs

#: A client that wants to wait longer gets UNAVAILABLE after this, and asks again.
LONGEST_WAIT = 30.0
OPEN_SECONDS = 30.0
#: Time until a worker that did not answer, or was killed, is seen to be dead.
DYING_SECONDS = 2.0
#: Time after a failure before a GPU is tried again for a program.
RETRY_SECONDS = 10.0


class NodeService:
    """Opens sessions, and closes them when their process has finished or died."""

    def __init__(
        self,
        registry: Registry,
        supervisor: Supervisor,
        watch: Watch,
        keeper: Keeper,
        *,
        faults: FaultInjector,
        waiting: rpc.Waiting,
        ended: Callable[[Session], None],
    ) -> None:
        self._registry, self._supervisor, self._keeper = registry, supervisor, keeper
        self.programs = Programs(registry, watch, keeper, self.close)
        self._watch = watch
        self._faults, self._waiting, self._ended = faults, waiting, ended
        self.Attach = waiting.serve(self._attach)
        self.draining = False
        self.moving = False  # the service is about to be made anew
        self.unanswered: set[int] = set()  # sessions that existed when this service began

    # -- rpcs -------------------------------------------------------------------------------------

    def Describe(self, request: Any, context: Any) -> Any:
        check_version(request.protocol_version, context)
        gpus = [self._describe(gpu) for gpu in self._registry.gpus if not gpu.spare]
        return control_pb2.DescribeReply(protocol_version=PROTOCOL_VERSION, gpus=gpus)

    def _attach(self, request: Any, context: Any) -> Any:
        check_version(request.protocol_version, context)
        deadline = time.monotonic() + min(request.wait_ms / 1000, LONGEST_WAIT)
        with self._waiting.seat(context, "ask again"):
            session = self._find(request, context) if request.token else self._open(request, context, deadline)
            self._wait_reachable(session, context, deadline)
        worker = session.worker
        assert worker is not None
        return control_pb2.AttachReply(
            session=session.number,
            token=session.token,
            worker_socket=op_socket(worker.socket),
            **session.addresses.fields(),
            **session.pinned(),
        )

    def Detach(self, request: Any, context: Any) -> Any:
        session = self._registry.by_token(request.token)
        if session is None:
            refuse(context, grpc.StatusCode.NOT_FOUND, "unknown session; it may have been closed already")
        self.close(session)
        return control_pb2.DetachReply()

    # -- parts ------------------------------------------------------------------------------------

    def close(self, session: Session) -> None:
        """Closes a session whose process has finished with it, or has died. A second call has no effect."""
        with self._registry.changed:
            if session.state is SessionState.CLOSED:
                return
            worker = session.worker
            self._registry.remove(session)
        try:
            if worker is not None:
                self._end(worker, session)
            self._free_slot(session, worker)
        finally:
            self._ended(session)

    def _free_slot(self, session: Session, worker: Worker | None) -> None:
        """Frees the session's slot once its worker has ended; if that takes long, the caller does not wait for it."""
        if worker is None or worker.ends_within(DYING_SECONDS):
            return self._registry.free_slot(session)
        worker.tell_slow()
        descriptor = worker.own_descriptor()
        if descriptor < 0:
            return self._registry.free_slot(session)
        self._watch.readable(descriptor, lambda: self._registry.free_slot(session))

    def _end(self, worker: Worker, session: Session) -> None:
        """Ends the worker, and with it what the program had on the node."""
        if worker.alive():
            try:
                worker.ask("CloseSession", worker_pb2.SessionRequest(session=session.number), OPEN_SECONDS).result()
            except grpc.RpcError as error:
                if rpc.refused(error):
                    print(f"jitc-proxyd: closing session {session.number}: {error}", file=sys.stderr)
            except ValueError:
                pass  # its channel has been closed meanwhile: the worker has ended
        worker.kill()

    def _describe(self, gpu: Gpu) -> Any:
        facts = gpu.facts
        return control_pb2.Gpu(
            index=gpu.index,
            device=self._registry.backend.device,
            name=facts.name,
            uuid=facts.uuid,
            memory_total=facts.memory_total,
            capability_major=facts.capability[0],
            capability_minor=facts.capability[1],
            multiprocessors=facts.multiprocessors,
            attributes=dict(facts.attributes),
            cudnn=facts.cudnn,
            check_order=self._registry.config.check_order,
            runs_kernels=KINDS[self._registry.backend.device].runs_kernels,
        )

    def _close_unanswered(self, request: Any) -> None:
        """Closes a session that the previous service opened unknown to its program, which asks again now."""
        with self._registry.changed:
            same = [
                one
                for one in self._registry.sessions.values()
                if one.program == request.program and one.number in self.unanswered
            ]
        for session in same:
            if not session_stats(session).get("received"):
                self.close(session)

    def _find(self, request: Any, context: Any) -> Session:
        session = self._registry.by_token(request.token)
        if session is None:
            refuse(context, grpc.StatusCode.NOT_FOUND, "unknown session: it was closed, or the service is another one")
        self.programs.returned(session, request, context)
        return session

    def _open(self, request: Any, context: Any, deadline: float) -> Session:
        if self.moving:
            refuse(context, grpc.StatusCode.UNAVAILABLE, rpc.ANEW)
        if self.draining:
            message = "jitc-proxyd is stopping: it takes no new sessions, only serves those that it has to their end"
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, message)
        if request.gpu >= self._registry.visible():
            have = self._registry.visible()
            refuse(context, grpc.StatusCode.NOT_FOUND, f"GPU {request.gpu} does not exist; this node has {have}")
        pid = self.programs.process(request, context)
        environment = self._environment(request, context)
        self._close_unanswered(request)
        gpu = self._registry.gpus[request.gpu]
        with self._registry.changed:
            gpu.attaching += 1
        try:
            return self._open_on(gpu, request, pid, environment, context=context, deadline=deadline)
        finally:
            with self._registry.changed:
                gpu.attaching -= 1
                self._registry.changed.notify_all()

    def _environment(self, request: Any, context: Any) -> Mapping[str, str]:
        """Returns the environment for the libraries that the workers open; empty if they open none."""
        try:
            variables = accepted(request.environment)
        except Refused as error:
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, str(error))
        return variables if KINDS[self._registry.backend.device].runs_kernels else {}

    def _open_on(
        self, gpu: Gpu, request: Any, pid: int, environment: Mapping[str, str], *, context: Any, deadline: float
    ) -> Session:
        while True:
            worker = self._new_worker(gpu, environment, context, deadline)
            session = self._add(request, pid, environment, worker, context)
            try:
                worker.ask("OpenSession", worker_pb2.OpenSessionRequest(session=session.number), OPEN_SECONDS).result()
            except grpc.RpcError as error:
                self._forget(session, worker)
                if rpc.refused(error):
                    why = rpc.status_of(error)[1]
                    self._refuse(context, grpc.StatusCode.INTERNAL, f"the worker cannot open a session: {why}")
                continue
            if self._enter_serving(session, worker, context):
                return session

    def _new_worker(self, gpu: Gpu, environment: Mapping[str, str], context: Any, deadline: float) -> Worker:
        failed = gpu.lost or (gpu.failure if time.monotonic() - gpu.failed_at < RETRY_SECONDS else "")
        if failed:
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, f"GPU {gpu.index} has failed: {failed}")
        left = deadline - time.monotonic() if context.is_active() else 0.0
        try:
            return assign_worker(
                self._registry, self._supervisor, gpu, max(0.0, left), variables=environment, ends=max(0.0, left)
            )
        except NotYet as error:
            refuse(context, grpc.StatusCode.UNAVAILABLE, f"no worker is ready yet for GPU {gpu.index}: {error}")
        except NoWorker as error:
            self._refuse(context, grpc.StatusCode.FAILED_PRECONDITION, f"GPU {gpu.index} has failed: {error}")

    def _add(
        self, request: Any, pid: int, environment: Mapping[str, str], worker: Worker, context: Any
    ) -> Session:  # fmt: skip
        try:
            return self._registry.add(request, pid, environment)
        except (Full, NoSpace) as error:
            worker.kill()
            self._refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))

    def _refuse(self, context: Any, code: grpc.StatusCode, text: str) -> NoReturn:
        """Refuses a program for want of something, unless all that the service lacks is its keeper."""
        if self._keeper.lost:
            refuse(context, grpc.StatusCode.UNAVAILABLE, rpc.ANEW)
        refuse(context, code, text)

    def _forget(self, session: Session, worker: Worker) -> None:
        """Takes back a session that was never served."""
        self._registry.remove(session)
        worker.kill()
        self._free_slot(session, worker)

    def _enter_serving(self, session: Session, worker: Worker, context: Any) -> bool:
        """Enters the session as serving. Returns False when its worker was lost meanwhile (then it is opened again)."""
        with self._registry.changed:
            alive = worker.alive()
            if alive:
                session.worker = worker
                session.machine.fire(SessionEvent.OPENED)
        if not alive:
            self._forget(session, worker)
            return False
        if not self.programs.watch(session):
            refuse(context, grpc.StatusCode.NOT_FOUND, "the program has ended")
        self._registry.note(session)
        self._faults.session_opened(session)
        return True

    def _wait_reachable(self, session: Session, context: Any, deadline: float) -> None:
        changed = self._registry.changed
        with changed:
            while not session.reachable():
                if session.state is SessionState.FAILED:
                    self._refuse(context, grpc.StatusCode.FAILED_PRECONDITION, session.failure)
                if session.state is SessionState.CLOSED:
                    refuse(context, grpc.StatusCode.NOT_FOUND, "the session has been closed")
                left = deadline - time.monotonic() if context.is_active() else 0.0
                if left <= 0:
                    refuse(context, grpc.StatusCode.UNAVAILABLE, "the session is being recovered; ask again")
                changed.wait(min(left, 1.0))


def check_version(got: int, context: Any) -> None:
    if got != PROTOCOL_VERSION:
        refuse(context, grpc.StatusCode.FAILED_PRECONDITION, version_message(got))
