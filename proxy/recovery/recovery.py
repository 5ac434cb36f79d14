"""One recovery: fence, rebuild, decide, restore, resume, replay; all of it again after a second fault.

Called by: the coordinator, in a thread of the job (job.py). Promises: all ranks of the job get one decision; clients
only notice a wait; a recovery ends in DONE, in GIVEN_UP or when no session is left, and reports what it did and how
long each part took; events of other jobs neither interrupt nor end it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from jitc.v1 import worker_pb2

from ..protection.determinism.tolerance import MEASURING, Tolerances, differences
from ..protection.peer_mode.policy import Policies
from ..ranks.events import Event, EventQueue
from ..ranks.rank import ArmedFaults, NoWorker, Overtaken, Rank, Ranks, Replacements
from ..ranks.states import SessionEvent, SessionState
from .decide import Decision, Kind, NothingInCommon, RankPosition, decide
from .ending import abandon, abandon_starved, give_up
from .incident import Incident
from .limits import Attempts, Limits
from .phases import Phase, PhaseEvent, Timeline
from .rank_times import RankTimes
from .replay import Replay, Stuck
from .restore.rescue import rescue, say_kept
from .restore.restore import STEP_MS, CannotRestore, Restore
from .restore.transfer import Transfers
from .worker_calls import CALL_SECONDS, CallsUnderWay, Interrupted, Refused, WorkerCalls, want_open

_PHASES = tuple(Phase)


class GivenUp(Exception):
    """The group cannot be recovered; the text goes to the programs."""


class Recovery:
    """The recovery of a group, from its first fault until the replay has caught up."""

    def __init__(
        self,
        ranks: Ranks,
        replacements: Replacements,
        incident: Incident,
        *,
        faults: ArmedFaults,
        policies: Policies,
        limits: Limits,
        tolerances: Tolerances,
        events: EventQueue,
    ) -> None:
        self._ranks, self._replacements, self._faults = ranks, replacements, faults
        self._policies, self._limits, self._events = policies, limits, events
        self._tolerances = tolerances
        self.incident = incident
        self.group: list[Rank] = []
        self.job = incident.job(ranks)
        self.timeline = Timeline(incident.detect_seconds)
        self.decision: Decision | None = None
        self.bytes_restored = 0
        self.attempts = Attempts()
        self.failure = ""
        self.handed_over: list[str] = []  # errors given to programs
        # Differences between the original results and those of the replay.
        self.differences: dict[str, Any] = {"results": 0, "largest": 0.0, "bound": 0.0}
        self._positions: dict[int, Any] = {}
        self._lost: set[int] = set()
        self._suspect: set[int] = set()  # lost while they executed ops, so an op may be what ends their workers
        self.times = RankTimes()
        self.calls = self._calls = WorkerCalls(events, self._concerns, self.times)
        self._replay = Replay(self._calls, policies.replayed, self.times)
        self.transfers = Transfers(self._calls, ranks)

    def run(self) -> None:
        self._end_unusable()
        while True:
            self.attempts.begin()
            try:
                return self._attempt()
            except (Interrupted, Overtaken) as interruption:
                if self._events.stopped or not self._again(str(interruption)):
                    return
            except (GivenUp, NothingInCommon, CannotRestore, Refused, NoWorker, Stuck) as error:
                return self.give_up(str(error))

    def involved(self) -> Sequence[Rank]:
        return list({*self.incident.sessions(), *self.group})

    def inherit(self, other: Recovery) -> None:
        """Takes over another recovery, which has been stopped: its job has become part of this one."""
        self.incident.inherit(other.incident)

    # -- one attempt ------------------------------------------------------------------------------

    def _attempt(self) -> None:
        self.group = self._all_ranks()
        if not self.group and self.handed_over:
            return  # the programs have ended after their errors
        if not self.group:
            raise GivenUp("the processes have ended")
        self.job = self._ranks.job_of(self.group[0])
        epoch = self._fence()
        kept = self._begin_keeping(epoch)
        self._rebuild(epoch)
        self._end_keeping(kept)
        if not self.group:
            return  # as above
        self._decide_and_restore(Restore(self._calls, self.transfers, self.group, self.rank_positions(), epoch))
        self._hand_over()
        self._resume(epoch)
        self._wait_for_replay()

    def _all_ranks(self) -> list[Rank]:
        seeds = self.incident.sessions()
        self._calls.known(lambda: self._ranks.awaits(seeds))
        return list(self._ranks.group(seeds))

    def _fence(self) -> int:
        epoch = self._ranks.next_epoch(self.group)
        if self._all_ranks() != self.group:
            raise Interrupted("other ranks have joined the job, or left it")
        with self._ranks.changed:
            self._lost = set()
            want_open(self.group)
            for session in self.group:
                session.epoch = epoch
                lost = session.state is SessionState.LOST or session.worker is None or not session.worker.works()
                if lost and session.worker is not None:
                    self.incident.lose(session.worker)
                if lost and session.state is SessionState.SERVING:
                    self._suspect.add(session.number)
                session.machine.fire(SessionEvent.LOSE if lost else SessionEvent.FENCE)
                if lost:
                    self._lost.add(session.number)
            self.times.fenced(self.group, self._lost)
            self._ranks.changed.notify_all()
        self._ranks.stop(self.group, True)
        self._ranks.renew_communicators(self.group)
        healthy = [session for session in self.group if session.state is not SessionState.LOST]
        self._positions = self._calls.all("Fence", [(one, _session_request(one)) for one in healthy])
        self._drop_known_faults()
        self.timeline.fire(PhaseEvent.FENCE)
        return epoch

    def _begin_keeping(self, epoch: int) -> CallsUnderWay | None:
        """Has survivors copy the state that only they hold while lost ranks are rebuilt: they may be lost as well."""
        if not self._lost or not self._policies.peer_mode(self.group):
            return None
        requests = [
            (one, worker_pb2.RecoverRequest(session=one.number, epoch=epoch, timeout_ms=STEP_MS))
            for one in self._healthy()
        ]
        kept = self._calls.begin({"Keep": requests}, CALL_SECONDS)
        for session, _ in requests:
            kept.futures[session.number].add_done_callback(functools.partial(say_kept, session.label()))
        return kept

    def _end_keeping(self, kept: CallsUnderWay | None) -> None:
        for number, reply in (self._calls.answers(kept) if kept is not None else {}).items():
            if not reply.complete:
                session = self._ranks.sessions.get(number)
                whose = session.label() if session else number
                why = f"state that only this rank holds could not be copied: {reply.message}"
                self.transfers.notes.append(f"{whose}: {why}")

    def _rebuild(self, epoch: int) -> None:
        lost = [session for session in self.group if session.state is SessionState.LOST]
        self._calls.await_ends(lost)
        starved = {one.number: one.worker.starved() if one.worker is not None else "" for one in lost}
        for session in lost:
            with self.times.rebuilds(session.number):
                self._reopen(session)
        self._positions |= self._calls.all("Fence", [(one, _session_request(one)) for one in lost])
        for session in lost:
            position, why = self._positions[session.number], starved[session.number]
            progress = position.prepared, position.executed, position.received
            if why and self._limits.count_starved(session.number, progress):
                self.handed_over.append(abandon_starved(self._ranks, session, why))  # restoring would take memory
                self.group.remove(session)
                del self._positions[session.number]
            suspect = not why and session.number in self._suspect
            if suspect and self._limits.count_loss(session.number, progress):
                raise GivenUp(f"the worker of {session.label()} was lost again and again at the same place")
        self._suspect.clear()
        self.timeline.fire(PhaseEvent.REBUILD)

    def _reopen(self, session: Rank) -> None:
        self._replacements.replace(session, self.transfers.notes, lambda: want_open([session]))
        request = worker_pb2.OpenSessionRequest(session=session.number, epoch=session.epoch, rebuild=True)
        self._calls.one(session, "OpenSession", request)
        with self._ranks.changed:
            want_open([session])
            session.machine.fire(SessionEvent.REBUILD)
            self._ranks.note(session)
            self._ranks.changed.notify_all()  # its client may connect and send ops; nothing runs yet

    def _decide_and_restore(self, restore: Restore) -> None:
        peer_mode = self._policies.peer_mode(self.group)
        older = any(self._limits.prefers_older_boundary(one.number) for one in self.group)
        decision = decide(self.rank_positions(), peer_mode, older=older)
        self.decision = decision
        self.timeline.fire(PhaseEvent.DECIDE)
        if decision.kind is Kind.ROLL_FORWARD and not restore.forward(decision.boundaries):
            self.timeline.fire(PhaseEvent.FORWARD_FAILED)
            decision = self.decision = decide(self.rank_positions(), peer_mode, forward_failed=True)
            self.timeline.fire(PhaseEvent.DECIDE)
        if decision.kind is Kind.ROLL_BACK:
            decision = self.decision = Decision(decision.kind, restore.back(decision.boundaries))
        self._policies.restored(self.group, restore, decision.boundaries)
        self.bytes_restored += restore.bytes
        self.timeline.fire(PhaseEvent.RESTORE)

    def _hand_over(self) -> None:
        """Fails each session whose fault returned too often: its program gets its own error instead of a replay."""
        for session, fault in self.incident.own_faults():
            if session in self.group and session.state is not SessionState.FAILED:
                abandon(self._ranks, session, fault.status, fault.message)
                self.handed_over.append(f"{session.label()}: {fault.message}")
        self.group = [session for session in self.group if session.state is not SessionState.FAILED]

    def _resume(self, epoch: int) -> None:
        sessions = [session.number for session in self.group]
        lost = [session for session in self.group if session.number in self._lost]
        self._policies.restore(lost)
        for session in lost:
            self._faults.session_rebuilt(session)
        bound = MEASURING if self.incident.validates() else self._tolerances.bound(self.group)
        self.differences = {"results": 0, "largest": 0.0, "bound": bound}
        requests = [
            (one, worker_pb2.ResumeRequest(session=one.number, epoch=epoch, sessions=sessions, bound=bound))
            for one in self.group
        ]
        with self._ranks.changed:
            want_open(self.group)
            for session in self.group:
                session.machine.fire(SessionEvent.RESUME)
            self._ranks.note(*self.group)
            self._ranks.changed.notify_all()
        if self.decision and (told := self._ranks.placed(self.decision.places(sessions, self._lost), epoch)):
            self._calls.settled(told, CALL_SECONDS, self.group)
        self._calls.all("Resume", requests)
        self.timeline.fire(PhaseEvent.RESUME)

    def _wait_for_replay(self) -> None:
        """Waits until each lost rank has executed all that it had received, the others all that they had executed."""
        executed = self._replay.wait(self.group, self._replay_end)
        for one in self.group:
            position = self._positions.get(one.number)
            if position is not None and executed[one.number] >= position.received:
                self._limits.note_caught_up(one.number, position.received)
        if self.differences["bound"]:
            self.differences |= differences(self.group)
        self.timeline.fire(PhaseEvent.REPLAY)

    def _replay_end(self, session: Rank) -> int:
        """Returns the newest op that must run again; 0 for a session that has ended."""
        position = self._positions.get(session.number)
        if position is None or session.worker is None or session.state is SessionState.CLOSED:
            return 0
        if session.number in self._lost:
            return int(position.received)
        failed = self.incident.failed_at(session)  # that op must run again as well
        return max(int(position.executed), min(failed, int(position.received)))

    # -- interruptions ----------------------------------------------------------------------------

    def _concerns(self, event: Event) -> bool:
        replaying = self.timeline.machine.state is Phase.RESUMED
        return self.incident.concerns(event, self.group, replaying)

    def _drop_known_faults(self) -> None:
        """Adds faults that the group reported before the fence to this attempt; later ones interrupt it."""
        for event in self._events.take(self._concerns):
            self.incident.add(event, self._limits)
        self._end_unusable()
        if any(session.worker is None or not session.worker.works() for session in self._healthy()):
            raise Interrupted("a worker was lost as well")

    def _end_unusable(self) -> None:
        """Ends workers whose device is unusable; state that only they hold is kept if it can be read."""
        if sick := self.incident.readable():
            self.transfers.notes.extend(rescue(sick, self._ranks.next_epoch(sick)))
        self.incident.kill_unusable()

    def _healthy(self) -> Sequence[Rank]:
        return [session for session in self.group if session.state is not SessionState.LOST]

    def _again(self, why: str) -> bool:
        reached = (_PHASES.index(self.timeline.machine.state), self._replay.furthest)
        for event in self._events.take(self._concerns):
            self.incident.add(event, self._limits)
        self._end_unusable()
        if self.attempts.count_interruption(reached):
            times = self.attempts.count
            self.give_up(f"the recovery was interrupted {times} times and got no further, last because {why}")
            return False
        for session in self.group:
            # A rebuilt worker that has not resumed may have restored half of its memory, or opened half of its session.
            if session.without_worker() and session.worker is not None:
                session.worker.replace()
        self.timeline.fire(PhaseEvent.FAULT)
        return True

    def give_up(self, why: str) -> None:
        """Gives up this job, and no other."""
        self.failure = why
        if self.timeline.machine.can(PhaseEvent.GIVE_UP):
            self.timeline.fire(PhaseEvent.GIVE_UP)
        give_up(self._ranks, self.involved(), why)

    def rank_positions(self) -> dict[int, RankPosition]:
        """Returns the position of each rank at the fence, by session."""
        return {number: RankPosition.told(one, number in self._lost) for number, one in self._positions.items()}


def _session_request(session: Rank) -> Any:
    return worker_pb2.SessionRequest(session=session.number, epoch=session.epoch)
