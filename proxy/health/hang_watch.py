"""Monitors the progress of all ranks and names the one that hangs.

A rank hangs if it stalls at an op, or does not answer, while ranks that share a communicator with it wait in a
collective, for longer than such ranks of this job usually stall (gaps.py; at most --hang-seconds). A verdict starts a
recovery; a wrong verdict costs one recovery, and is learned.

Called by: the service; the coordinator gets the verdicts. Promises: one rank of a job at a time; the early limit
applies to an op once, and after that only the longest time; jobs of one rank are left to the devices and the heartbeat,
since there a hang cannot be told from work that takes long.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..common.rounds import Rounds
from ..ranks.rank import Rank, Ranks
from ..ranks.states import SessionState
from .gaps import OP, History
from .pulse import Pulse
from .suspects import KINDS, Standing, State, Suspect, suspects, waits_for
from .verdict import Hang, describe, verdict

PAUSE_SECONDS = 1.0
#: Looks within the longest time.
LOOKS = 8


@dataclass
class _Judged:
    """An op that counted as hung before the longest time was over."""

    sequence: int
    kind: str
    limit: float
    again: float = 0.0  # how long it has taken since


class HangWatch(Rounds):
    """A thread that monitors the ranks; there is none if seconds is 0."""

    def __init__(self, ranks: Ranks, seconds: float, found: Callable[[Hang], None]) -> None:
        super().__init__("jitc-hangs", min(PAUSE_SECONDS, seconds / LOOKS), self._round)
        self._ranks, self._seconds, self._found = ranks, seconds, found
        self._looked = time.monotonic()
        self._pulses: dict[int, Pulse] = {}
        self._histories: dict[int, History] = {}  # by the first session of the job
        self._judged: dict[int, _Judged] = {}
        self._late: dict[int, list[str]] = {}  # replaced as a whole

    def late(self, session: Rank) -> list[str]:
        """Returns the ranks that this one waits for in a collective, each with its activity. Any thread."""
        return self._late.get(session.number, [])

    def _round(self) -> None:
        before, self._looked = self._looked, time.monotonic()
        self.look(min(self._looked - before, 2 * self._pause))

    def look(self, elapsed: float) -> None:
        jobs = self._jobs()
        late: dict[int, list[str]] = {}
        self._forget({one.number for job in jobs for one in job})
        for job in jobs:
            pulses = [self._pulse(one) for one in job]
            for pulse in pulses:
                pulse.look(elapsed)
            late |= self._judge(pulses)
        self._late = late

    def _jobs(self) -> list[Sequence[Rank]]:
        """Returns jobs of several ranks, all of which run."""
        with self._ranks.changed:
            left = [one for one in self._ranks.sessions.values() if one.state is SessionState.SERVING]
            jobs = []
            while left:
                job = self._ranks.group(left[:1]) or left[:1]
                left = [one for one in left if one not in job]
                jobs.append(job)
        return [job for job in jobs if len(job) > 1 and all(map(_runs, job))]

    def _pulse(self, session: Rank) -> Pulse:
        pulse = self._pulses.get(session.number)
        if pulse is not None and pulse.fits(session):
            return pulse
        if pulse is not None:
            pulse.close()
        assert session.worker is not None
        pulse = self._pulses[session.number] = Pulse(session, session.worker, session.epoch, 2 * self._seconds)
        return pulse

    def _forget(self, numbers: set[int]) -> None:
        """Restarts the monitoring of sessions in a recovery; learned times stay until they end."""
        for number in self._pulses.keys() - numbers:
            self._pulses.pop(number).close()
        with self._ranks.changed:
            ended = (self._histories.keys() | self._judged.keys()) - self._ranks.sessions.keys()
        for number in ended:
            self._histories.pop(number, None)
            self._judged.pop(number, None)

    # -- verdicts -----------------------------------------------------------------------------------

    def _judge(self, pulses: list[Pulse]) -> dict[int, list[str]]:
        """Returns the ranks that others wait for."""
        history = self._histories.setdefault(pulses[0].session.number, History(self._seconds))
        history.at(min(one.boundary for one in pulses))
        ranks, peers = [one.standing for one in pulses], self._peers(pulses)
        self._learn(history, pulses, ranks, peers)
        for pulse in pulses:
            pulse.session.hang_seconds = history.limit(OP)
        found = suspects(ranks, peers, lambda one, kind: self._limit(history, one, kind))
        under_way = any(one.judged for one in pulses)
        if found and not under_way and found[0].seconds < self._seconds:  # else devices and the heartbeat say so
            self._verdict(history, found[0], {one.session.number: one for one in pulses})
        return _late(pulses, peers)

    def _limit(self, history: History, one: Standing, kind: str) -> float:
        judged = self._judged.get(one.session)
        again = judged is not None and judged.sequence == one.sequence and one.state is not State.SILENT
        return history.most if again else history.limit(kind)

    def _learn(
        self, history: History, pulses: list[Pulse], ranks: list[Standing], peers: dict[int, frozenset[int]]
    ) -> None:
        """Learns how long ranks stall that continue, and whether the newest verdicts were correct."""
        for pulse, one in zip(pulses, ranks, strict=True):
            judged = self._judged.get(one.session)
            if judged is not None and one.sequence == judged.sequence and one.state is not State.IDLE:
                judged.again = max(judged.again, one.still)
            elif judged is not None and pulse.executed >= judged.sequence:
                del self._judged[one.session]
                if judged.again >= judged.limit / 2:
                    history.wrong(judged.kind, judged.again)
            if one.state in KINDS and (one.state is not State.WAITS) and waits_for(ranks, peers, one):
                history.stood(KINDS[one.state], one.still)

    def _verdict(self, history: History, suspect: Suspect, pulses: dict[int, Pulse]) -> None:
        standing = suspect.standing
        pulse = pulses[standing.session]
        pulse.judged = True
        limit = history.limit(suspect.kind)
        history.judged(suspect.kind)
        self._judged[standing.session] = _Judged(standing.sequence, suspect.kind, limit)
        waiting = [pulses[number].session.label() for number in suspect.waiting]
        hang = verdict(suspect, pulse.session, waiting, limit, pulse.since)
        print(f"jitc-proxyd: {hang.message}", file=sys.stderr, flush=True)
        self._found(hang)

    def _peers(self, pulses: Iterable[Pulse]) -> dict[int, frozenset[int]]:
        """Returns, by session, those that share a communicator with it."""
        with self._ranks.changed:
            members = [frozenset(one.members) for one in self._ranks.communicators]
        numbers = [one.session.number for one in pulses]
        return {number: frozenset().union(*(one for one in members if number in one)) - {number} for number in numbers}


def _runs(session: Rank) -> bool:
    """Returns whether a rank runs, also in a replay, where hangs are found as well. A worker that takes long to end
    does not hang."""
    worker = session.worker
    return session.state is SessionState.SERVING and worker is not None and worker.works()


def _late(pulses: list[Pulse], peers: dict[int, frozenset[int]]) -> dict[int, list[str]]:
    waiting = [one.session.number for one in pulses if one.standing.state is State.WAITS]
    return {
        number: [
            f"{one.session.label()}: {describe(one.standing)}"
            for one in pulses
            if one.session.number in peers[number] and one.standing.state is not State.WAITS
        ]
        for number in waiting
    }
