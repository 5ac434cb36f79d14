"""One recovery: fence, rebuild, decide, restore, resume, replay; again from the start on a second fault.

Called by: the coordinator, in its thread. Promises: all ranks of the group get one decision; clients
see nothing but a wait; it ends in DONE or GIVEN_UP, and says what it did and how long each part took.
"""

from __future__ import annotations

import time
from typing import Any

from jitc.v1 import worker_pb2

from ..node.faults import FaultDesk
from ..node.service import open_request
from ..node.sessions import Registry, Session, SessionEvent, SessionState
from ..node.supervisor import NoWorker, Supervisor
from .calls import CALL_SECONDS, Calls, Interrupted, Refused
from .decide import Decision, Kind, Standing, decide
from .events import Happening, Happenings
from .limits import Limits
from .policy import Policies
from .rebuild import rebuild_gpu
from .restore import CannotRestore, Restore
from .roads import Roads
from .states import Event, Phase, Timeline
from .trouble import Trouble

#: Restarts of one recovery; each needs another fault, or a worker that cannot do its part.
ATTEMPTS = 8
#: How often the replay's progress is asked for.
REPLAY_POLL = 0.005
REPLAY_SECONDS = 600.0
CUDA_ERROR_UNAVAILABLE = 46  # cudaErrorDevicesUnavailable


class GivenUp(Exception):
    """The group cannot be recovered; the text goes to the programs."""


class Recovery:
    """Lives from the first fault of a group until its replay has caught up."""

    def __init__(
        self,
        registry: Registry,
        supervisor: Supervisor,
        trouble: Trouble,
        *,
        faults: FaultDesk,
        policies: Policies,
        limits: Limits,
        happenings: Happenings,
    ) -> None:
        self._registry, self._supervisor, self._faults = registry, supervisor, faults
        self._policies, self._limits, self._happenings = policies, limits, happenings
        self.trouble = trouble
        self.group: list[Session] = []
        self.timeline = Timeline(trouble.detect_seconds)
        self.decision: Decision | None = None
        self.bytes_restored = 0
        self.attempts = 0
        self.failure = ""
        self.handed_over: list[str] = []  # errors given to programs
        self._positions: dict[int, Any] = {}
        self._lost: set[int] = set()
        self._calls = Calls(happenings, self._concerns)
        self.roads = Roads(self._calls, registry.shared.segment_bytes)

    def run(self) -> None:
        while True:
            self.attempts += 1
            try:
                self._attempt()
                return
            except Interrupted as interruption:
                if self._happenings.stopped or not self._again(str(interruption)):
                    return
            except (GivenUp, CannotRestore, Refused, NoWorker) as error:
                self._give_up(str(error))
                return

    # -- one attempt ------------------------------------------------------------------------------

    def _attempt(self) -> None:
        self.group = self._registry.group(self.trouble.sessions())
        if not self.group:
            raise GivenUp("the processes have ended")
        epoch = self._fence()
        self._rebuild(epoch)
        restore = Restore(self._calls, self.roads, self.group, self._lost, epoch)
        self._decide_and_restore(restore)
        self._hand_over()
        self._resume(epoch)
        self._replay()

    def _fence(self) -> int:
        epoch = self._registry.next_epoch()
        with self._registry.changed:
            self._lost = set()
            for session in self.group:
                session.epoch = epoch
                lost = session.state is SessionState.LOST or session.worker is None or not session.worker.alive()
                session.machine.fire(SessionEvent.LOSE if lost else SessionEvent.FENCE)
                if lost:
                    self._lost.add(session.number)
                    self._registry.gpus[session.gpu].state = "recovering"
        self._registry.renew_communicators(self.group)
        healthy = [session for session in self.group if session.state is not SessionState.LOST]
        self._positions = self._calls.all("Fence", [(one, _session_request(one)) for one in healthy])
        self._drop_known_faults()
        self.timeline.fire(Event.FENCE)
        return epoch

    def _rebuild(self, epoch: int) -> None:
        lost = [session for session in self.group if session.state is SessionState.LOST]
        for index in sorted({session.gpu for session in lost}):
            rebuild_gpu(self._registry, self._supervisor, self._registry.gpus[index])
        for session in lost:
            self._reopen(session)
        self._positions |= self._calls.all("Fence", [(one, _session_request(one)) for one in lost])
        for session in lost:
            position = self._positions[session.number]
            if self._limits.loss(session.number, (position.prepared, position.executed, position.received)):
                raise GivenUp("the worker was lost again and again at the same place of the program")
        self.timeline.fire(Event.REBUILD)

    def _reopen(self, session: Session) -> None:
        worker = self._registry.gpus[session.gpu].worker
        assert worker is not None
        session.worker = worker
        self._calls.one(session, "OpenSession", open_request(self._registry, session, rebuild=True))
        with self._registry.changed:
            if session.state is SessionState.CLOSED:
                raise Interrupted("the session was closed")
            session.machine.fire(SessionEvent.REBUILD)
            self._registry.changed.notify_all()  # its client may come and send on; nothing runs yet

    def _decide_and_restore(self, restore: Restore) -> None:
        peer_mode = self._policies.peer_mode(self.group)
        decision = decide(self.standings(), peer_mode)
        self.decision = decision
        self.timeline.fire(Event.DECIDE)
        if decision.kind is Kind.ROLL_FORWARD and not restore.forward(decision.boundary):
            self.timeline.fire(Event.FORWARD_FAILED)
            decision = self.decision = decide(self.standings(), peer_mode, forward_failed=True)
            self.timeline.fire(Event.DECIDE)
        if decision.kind is Kind.ROLL_BACK:
            restore.back(decision.boundary)
        self.bytes_restored += restore.bytes
        self.timeline.fire(Event.RESTORE)

    def _hand_over(self) -> None:
        """A fault that returned too often is the program's own: its session gets the error, not a replay."""
        for session, fault in self.trouble.own_faults():
            if session in self.group and session.state is not SessionState.FAILED:
                self._abandon(session, fault.status, fault.message)
                self.handed_over.append(f"{session.label()}: {fault.message}")
        self.group = [session for session in self.group if session.state is not SessionState.FAILED]

    def _resume(self, epoch: int) -> None:
        slots = [session.slot for session in self.group]
        lost = [session for session in self.group if session.number in self._lost]
        self._policies.restore(lost)
        for session in lost:
            self._faults.session_rebuilt(session)
        requests = [(one, worker_pb2.ResumeRequest(session=one.number, epoch=epoch, slots=slots)) for one in self.group]
        with self._registry.changed:
            for session in self.group:
                if session.state is SessionState.CLOSED:
                    raise Interrupted("a session was closed")
                session.machine.fire(SessionEvent.RESUME)
            for index in {session.gpu for session in lost}:
                self._registry.gpus[index].state = "ready"
            self._registry.changed.notify_all()
        self._calls.all("Resume", requests)
        self.timeline.fire(Event.RESUME)

    def _replay(self) -> None:
        """Until each lost rank has executed all that it had received, and the others all they had executed."""
        deadline = time.monotonic() + REPLAY_SECONDS
        waiting = list(self.group)
        while waiting and time.monotonic() < deadline and not self._happenings.any(lambda _: True):
            waiting = [session for session in waiting if not self._caught_up(session)]
            if waiting:
                self._calls.sleep(lambda: self._happenings.any(lambda _: True), REPLAY_POLL)
        self._calls.check()
        self.timeline.fire(Event.REPLAY)

    def _caught_up(self, session: Session) -> bool:
        position = self._positions.get(session.number)
        if position is None or session.worker is None or session.state is SessionState.CLOSED:
            return True
        target = position.received if session.number in self._lost else position.executed
        return self._policies.executed(session) >= int(target)

    # -- interruptions ----------------------------------------------------------------------------

    def _concerns(self, happening: Happening) -> bool:
        replaying = self.timeline.machine.state is Phase.RESUMED
        return self.trouble.concerns(happening, self.group, replaying)

    def _drop_known_faults(self) -> None:
        """Faults that the group reported up to the fence are this recovery's; later ones interrupt it."""
        for happening in self._happenings.take(self._concerns):
            self.trouble.add(happening, self._limits)
        self.trouble.kill_unusable()
        if any(session.worker is None or not session.worker.alive() for session in self._healthy()):
            raise Interrupted("a worker was lost as well")

    def _healthy(self) -> list[Session]:
        return [session for session in self.group if session.state is not SessionState.LOST]

    def _again(self, why: str) -> bool:
        for happening in self._happenings.take(self._concerns):
            self.trouble.add(happening, self._limits)
        self.trouble.kill_unusable()
        if self.attempts >= ATTEMPTS:
            self._give_up(f"the recovery was interrupted {self.attempts} times, last because {why}")
            return False
        for session in self.group:
            # Half-restored memory is of no use: a rebuilt worker that did not get to Resume is made again. So is one
            # that was opening a lost session: whether it got that far is not known.
            if session.state in (SessionState.HELD, SessionState.LOST) and session.worker is not None:
                session.worker.kill()
                wait_end(session)
        self.timeline.fire(Event.FAULT)
        return True

    def _give_up(self, why: str) -> None:
        self.failure = why
        if self.timeline.machine.can(Event.GIVE_UP):
            self.timeline.fire(Event.GIVE_UP)
        message = f"jitc could not recover this job: {why}"
        for session in self.group:
            if session.state is not SessionState.CLOSED:
                self._abandon(session, CUDA_ERROR_UNAVAILABLE, message)
        with self._registry.changed:
            for index in {session.gpu for session in self.group}:
                gpu = self._registry.gpus[index]
                if gpu.worker is not None and gpu.worker.alive():
                    gpu.state = "ready"
            self._registry.changed.notify_all()

    def _abandon(self, session: Session, status: int, message: str) -> None:
        with self._registry.changed:
            if session.state is SessionState.CLOSED:
                return
            session.failure = message
            session.machine.fire(SessionEvent.FAIL)
            self._registry.changed.notify_all()
        if session.worker is None or not session.worker.alive():
            return
        request = worker_pb2.AbandonRequest(session=session.number, status=status, message=message)
        session.worker.stub.Abandon.future(request, timeout=CALL_SECONDS).exception()

    def standings(self) -> dict[int, Standing]:
        """Where each rank was found at the fence, by session."""
        return {
            number: Standing(
                prepared=one.prepared, begun=one.begun, lost=number in self._lost, executed=one.executed,
                received=one.received, committed=one.committed, reached=one.reached,
            )
            for number, one in self._positions.items()
        }  # fmt: skip


def wait_end(session: Session) -> None:
    if session.worker is not None:
        session.worker.process.wait()


def _session_request(session: Session) -> Any:
    return worker_pb2.SessionRequest(session=session.number, epoch=session.epoch)
