"""Which jobs this node leads: compared again and again with what is done about it.

A thread looks, whenever something has changed and in between: sessions of this node that another one leads now are let
go by the coordinator, then reported to their leader; jobs that this node leads now are taken once all of their ranks
are known; what is known of their ranks becomes events for the coordinator. Nothing here depends on a message that
comes once.

Called by: assembly.py (start, stop), router.py, methods.py, leader/ranks.py. Guarded by the registry's lock. Promises:
a session is reported to another leader only when nothing here acts on it any more; the coordinator hears of faults of a
job that was led elsewhere only when it knows what the job relies on (`RanksTaken`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ...node.registry import Registry
from ...node.session import Session
from ...ranks.events import RanksLeft, RanksTaken
from ...ranks.numbers import node_of
from ...ranks.rank import Rank
from ...ranks.states import SessionState
from ..store.clock import BootClock
from ..store.steps import Steps
from .home.reports import Reports
from .home.standing import Standing
from .leader.asking import Asking
from .leader.session import RemoteSession
from .leader.table import RemoteTable
from .leadership import Cluster
from .rights import Away, Duty, duty, followed, may_take
from .stamps import Stamps

#: Seconds between looks while there is something to look at.
LOOK_SECONDS = 0.25
#: For so long a job is not taken again of which the store has said that this node does not lead it.
REFUSED_SECONDS = 0.5


class Leads:
    """The thread, and what it has found."""

    def __init__(
        self, cluster: Cluster, registry: Registry, table: RemoteTable, *,
        reports: Reports, standing: Standing, stamps: Stamps, asking: Asking,
    ) -> None:  # fmt: skip
        self._cluster, self._registry, self._table = cluster, registry, table
        self._reports, self._standing, self._stamps, self._asking = reports, standing, stamps, asking
        self._away: dict[int, Away] = {}
        self._settling: set[int] = set()  # own sessions that were taken, and of which the coordinator has not said so
        self._refused: dict[int, float] = {}  # sessions whose job is not led here, says the store; until when it counts
        self._clock = BootClock()
        self._steps = Steps("jitc-leads", self._clock, self._step)
        cluster.jobs.follow(self._steps.wake)

    def start(self) -> None:
        self._steps.start()

    def stop(self) -> None:
        self._steps.stop()

    def wake(self, *_: object) -> None:
        self._steps.wake()

    # -- questions, with the registry's lock --------------------------------------------------------

    def is_away(self, number: int) -> bool:
        """Returns whether a session of this node is not led here, or not yet."""
        return number in self._away

    def is_left(self, number: int) -> bool:
        """Returns whether the coordinator is to let the session go, or has."""
        session = self._table.sessions.get(number)
        return (
            number in self._away or (session is None and not self.is_own(number)) or bool(session and session.leaving)
        )

    def away(self, number: int) -> Away | None:
        return self._away.get(number)

    def leader_of(self, number: int) -> str | None:
        """Returns the node that leads the session's job; None: none does, as far as is known."""
        leader = self._cluster.jobs.leader_of(number)
        return None if leader == self._cluster.node and self._is_ahead(number) else leader

    def connected(self, numbers: Iterable[int]) -> set[int]:
        """Returns all sessions of these sessions' jobs, of any node, and these."""
        found, more = set[int](), set(numbers)
        while more != found:
            found = more
            more = self._registry.connected(found) | self._cluster.jobs.connected(found)
        return found

    def over_nodes(self, numbers: Iterable[int]) -> bool:
        """Returns whether sessions of other nodes belong to these sessions' jobs."""
        return any(not self.is_own(one) for one in self.connected(numbers))

    def is_own(self, number: int) -> bool:
        return node_of(number) == node_of(self._registry.last)

    def awaits(self, numbers: Iterable[int]) -> str:
        """Returns what of these sessions' jobs is not known, or not taken yet, as a text; empty: nothing."""
        for number in sorted(self.connected(numbers)):
            if self.is_own(number):
                waits = number in self._registry.sessions and (number in self._away or number in self._settling)
            else:
                session = self._table.sessions.get(number)
                waits = not session.settled if session is not None else not self._table.is_gone(number)
            if waits:
                return self._asking.why(self._cluster.jobs.node_of(number))
        return ""

    # -- from others ------------------------------------------------------------------------------

    def begin(self, sessions: Sequence[Session]) -> Sequence[Session]:
        """Takes over sessions of the service before. Returns those whose jobs are led here alone; the others are taken
        when it is known who leads them."""
        with self._registry.changed:
            alone = [one for one in sessions if not self.over_nodes([one.number])]
            for one in sessions:
                if one not in alone:
                    self._away[one.number] = Away(None)
        self.wake()
        return alone

    def again(self, leader: str, numbers: Iterable[int]) -> None:
        """Begins another term of a leader that knows nothing of these sessions any more; one that has not taken in the
        newest report is told as before."""
        with self._registry.changed:
            for number in numbers:
                away = self._away.get(number)
                if away is not None and away.leader == leader and self._reports.is_delivered(number):
                    away.follow(leader, self._stamps.next())
            self._reports.again(leader)
        self.wake()

    def node_changed(self, node: str) -> None:
        """Tells a node anew which sessions there are: it may be back."""
        self._reports.again(node)
        self.wake()

    def lost(self, numbers: Iterable[int]) -> None:
        """Notes that the store has refused to let this node recover the jobs of these sessions, whatever is known here
        of who leads them."""
        with self._registry.changed:
            self._refused |= dict.fromkeys(self.connected(numbers), self._clock.now() + REFUSED_SECONDS)
        self.wake()

    # -- the thread -------------------------------------------------------------------------------

    def _step(self) -> float:
        with self._registry.changed:
            for number in self._away.keys() - self._registry.sessions.keys():
                del self._away[number]
            now = self._clock.now()
            self._refused = {number: until for number, until in self._refused.items() if until > now}
            self._leave()
            missing = self._take()
            followed = [(self._registry.sessions[number], away) for number, away in self._away.items()]
            remote = [one for one in self._table.sessions.values() if one.taken]
        self._asking.ask(missing)
        self._reports.look(followed)
        for one in remote:
            one.note()
        busy = followed or missing or self._table.sessions
        return self._clock.now() + LOOK_SECONDS if busy else math.inf

    def _is_ahead(self, number: int) -> bool:
        """Returns whether communicators of this node connect the session with others of which the store does not say so
        yet: nobody leads it until then."""
        if not any(one.elsewhere for one in self._registry.communicators):
            return False
        others = {one for one in self._registry.connected([number]) if not self.is_own(one)}
        return bool(others - self._cluster.jobs.connected([number]))

    def _leave(self) -> None:
        """Has the coordinator let go what this node does not lead any more."""
        leaving: list[Rank] = []
        for number, session in self._registry.sessions.items():
            if session.state is SessionState.OPENING:
                continue
            leader, away = self.leader_of(number), self._away.get(number)
            due = duty(self._cluster.node, away, leader, number in self._refused)
            if due is Duty.LET_GO:
                self._away[number] = Away(None, letting_go=True)
                leaving.append(session)
            elif due is Duty.FOLLOW and away is not None:
                away.follow(followed(self._cluster.node, leader), self._stamps.next())
        for one in list(self._table.sessions.values()):
            led = self._cluster.jobs.leader_of(one.number) == self._cluster.node and one.number not in self._refused
            if not led and not one.taken:
                self._table.drop(one)
            elif not led and not one.leaving:
                one.leaving = True
                leaving.append(one)
        if leaving:
            self._table.post(RanksLeft(leaving, lambda: self._let_go(leaving)))

    def _let_go(self, ranks: Sequence[Rank]) -> None:
        """Nothing here acts on these ranks any more."""
        with self._registry.changed:
            for one in ranks:
                away = self._away.get(one.number)
                if isinstance(one, RemoteSession):
                    self._table.drop(one)
                elif away is not None:
                    away.letting_go = False
        self.wake()

    def _take(self) -> set[int]:
        """Takes jobs that this node leads, as far as all their ranks are known. Returns sessions that are missing."""
        missing, seen = {number for number, one in self._table.sessions.items() if one.doubted}, set[int]()
        led = [one for one in self._registry.sessions if one not in self._away or self._is_free(one)]
        for number in [*led, *self._table.sessions]:
            if number in seen:
                continue
            job = self.connected([number])
            seen |= job
            unknown = {one for one in job if not self._is_known(one)}
            missing |= {one for one in unknown if not self.is_own(one)}
            if not unknown:
                self._take_job(job)
        return missing

    def _is_free(self, number: int) -> bool:
        """Returns whether a session that was not led here may be taken."""
        away, leader = self._away[number], self.leader_of(number)
        return may_take(self._cluster.node, away, leader, number in self._refused)

    def _is_known(self, number: int) -> bool:
        """Returns whether a session may be taken, has been, or has ended."""
        if self.is_own(number):
            return number not in self._registry.sessions or number not in self._away or self._is_free(number)
        session = self._table.sessions.get(number)
        return not session.leaving if session is not None else self._table.is_gone(number)

    def _take_job(self, job: set[int]) -> None:
        own = [self._registry.sessions[number] for number in sorted(job & self._away.keys())]
        others = [one for number, one in sorted(self._table.sessions.items()) if number in job and not one.taken]
        if not own and not others:
            return
        for session in own:
            del self._away[session.number]
            self._settling.add(session.number)
        for one in others:
            one.taken = True
        taken: list[Rank] = [*own, *others]
        self._table.post(RanksTaken(taken, lambda: self._settled(taken)))
        for session in own:
            self._standing.tell(session, self._table.post, self._table.fault_found)
        for one in others:
            self._table.tell(one)

    def _settled(self, ranks: Sequence[Rank]) -> None:
        with self._registry.changed:
            for one in ranks:
                self._settling.discard(one.number)
                if isinstance(one, RemoteSession):
                    one.settled = True
        self.wake()
