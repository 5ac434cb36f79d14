"""The policy of each group: copies of all blocks, or only of those that peers cannot supply.

Called by: the coordinator (tick, while no events come) in its thread; recoveries in theirs. Promises: a group starts
with copies of everything, so that a rollback is always possible; it changes to peer mode only after several measured
boundaries agree, is measured again from time to time, and returns to copies at any doubt, with a reason.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import grpc

from jitc.v1 import worker_pb2

from ...ranks.cuts import Boundaries
from ...ranks.rank import Rank, Ranks
from ...ranks.settings import have_taken
from ...ranks.states import SessionState
from ...ranks.stats import session_stats, stats_of
from ..spacing import Spacings
from .classes import Finding, classify
from .divergence import Divergences, tell
from .group_policy import GroupPolicy, measured
from .healing import Healings, Restorer
from .looks import Comparison, Looks, newer
from .reserves import Reserve, Standing
from .tables import tables_of
from .unevenness import Stats

#: Boundaries between measurements in peer mode, and between looks at replicas where nothing is measured any more.
MEASURE_EVERY = 50
#: The boundary after which peer mode ends is to be asked for first.
UNKNOWN = -1


class Policies:
    """The policies of all sessions."""

    def __init__(self, ranks: Ranks, spacings: Spacings, divergences: Divergences, healings: Healings) -> None:
        self._ranks, self._spacings, self._healings = ranks, spacings, healings
        self._looks = Looks(ranks, divergences, healings)
        self._groups: dict[int, GroupPolicy] = {}  # by session

    def peer_mode(self, group: Sequence[Rank]) -> bool:
        """Returns whether the newest boundary may lack copies, so that only peers have some of its blocks."""
        policies = [self._groups.get(one.number) for one in group]
        return any(policy is not None and policy.needs_peers() for policy in policies)

    def restore(self, sessions: Sequence[Rank]) -> None:
        """Sends rebuilt workers the policy of their predecessors."""
        for session in sessions:
            if policy := self._groups.get(session.number):
                self._send(session, policy)
        self._spacings.restore(sessions)

    def resume(self, sessions: Sequence[Rank]) -> None:
        """Takes over jobs of the previous service: those in peer mode return to copies, and are measured again."""
        for session in sessions:
            if session.peer_mode and session.number not in self._groups:
                group = self._ranks.group([session]) or [session]
                members, reserve = tuple(one.number for one in group), self._fresh_reserve(session.reserve)
                policy = GroupPolicy(members, barrier=True, leaving_at=UNKNOWN, reserve=reserve)
                self._groups |= {one.number: policy for one in group}

    def forget(self, session: Rank) -> None:
        """Handles a closed session; the rest of its group starts again."""
        self._groups.pop(session.number, None)

    def _heal(self, group: Sequence[Rank], restore: Restorer, boundary: int) -> None:
        """Runs in a recovery, with all ranks restored to the boundary: odd ranks take the majority's bytes, if ranks
        have stopped for that."""
        healed = self._healings.heal(group, restore, boundary)
        policy = self._groups.get(group[0].number) if healed else None
        if policy is None:
            return
        policy.replicas.healed(one.ordinal for one in healed)
        self._looks.note_splits(group, policy, boundary)
        policy.settled, policy.measuring = False, True  # peers may be relied on again
        policy.forget()
        self._send_all(group, policy)

    def restored(self, group: Sequence[Rank], restore: Restorer, boundaries: Boundaries) -> None:
        """Handles ranks that are at their boundaries again: findings about later ones no longer hold."""
        for policy in {id(one): one for session in group if (one := self._groups.get(session.number))}.values():
            policy.looked_at = min(policy.looked_at, *boundaries.values())
        if len(numbers := set(boundaries.values())) == 1:
            self._heal(group, restore, numbers.pop())

    def compare(self, group: Sequence[Rank], boundaries: Boundaries) -> Comparison | None:
        """Compares the ranks at a boundary after these, to which a recovery has taken them. None: they have none so
        far."""
        stats = stats_of(group)
        if len(group) == 1:
            alone = newer(boundaries, stats, "boundary")
            return None if alone is None else Comparison(max(alone.values()), without="it has no peers")
        policy = self._groups.get(group[0].number)
        if policy is None or set(policy.members) != boundaries.keys():
            return None
        return self._looks.compare(group, policy, boundaries, stats)

    def replayed(self, session: Rank) -> tuple[int, bool]:
        """Returns the highest op executed, queried now; and whether the ops after it wait for the program to read its
        results."""
        stats = session_stats(session)
        return int(stats.get("executed", 0)), bool(stats.get("held_back", False))

    def busy(self) -> bool:
        """Returns whether a group is being measured or compared; ticks must then be frequent."""
        return any(
            policy.leaving_at is not None or policy.looking or (not policy.settled and policy.measuring)
            for policy in self._groups.values()
        )

    def tick(self) -> None:
        for group in self._grouped():
            if (policy := self._policy(group)) is None or not policy.due(time.monotonic()):
                continue
            try:
                if policy.spaced and not self._spacings.enough(group):  # copies do not fit: peers may
                    policy.settled = policy.spaced = False
                    self._send_all(group, policy)
                if policy.leaving_at is not None:
                    self._leave(group, policy)
                elif policy.settled:
                    self._watch(group, policy)
                else:
                    self._measure(group, policy)
                if policy.barrier and policy.reserve.share:
                    self._keep_reserve(group, policy)
            except grpc.RpcError:
                continue  # a dying worker; the coordinator gets an event

    # -- groups -----------------------------------------------------------------------------------

    def _grouped(self) -> list[Sequence[Rank]]:
        """Returns groups of two or more whose communicators are complete."""
        ranks, groups, seen = self._ranks, [], set[int]()
        with ranks.changed:
            for number, session in ranks.sessions.items():
                if number in seen or session.state is not SessionState.SERVING:
                    continue
                group = ranks.group([session])
                seen |= {one.number for one in group}
                numbers = {one.number for one in group}
                inside = [one for one in ranks.communicators if one.members.keys() & numbers]
                complete = all(len(one.members) == one.ranks for one in inside)
                serving = all(one.state is SessionState.SERVING for one in group)
                if len(group) > 1 and complete and serving and not ranks.awaits(group):
                    groups.append(group)
        return groups

    def _policy(self, group: Sequence[Rank]) -> GroupPolicy | None:
        """Returns the group's policy; None if it has only just started."""
        members = tuple(session.number for session in group)
        policies = {id(self._groups.get(number)): self._groups.get(number) for number in members}
        policy = next(iter(policies.values()))
        if len(policies) == 1 and policy is not None and policy.members == members:
            return policy
        spaced = self._spacings.enough(group)
        fresh = GroupPolicy(members, settled=spaced, spaced=spaced, reserve=self._fresh_reserve())
        for session in group:
            self._groups[session.number] = fresh
            self._send(session, fresh)
        return None

    # -- measuring --------------------------------------------------------------------------------

    def _measure(self, group: Sequence[Rank], policy: GroupPolicy) -> None:
        stats = stats_of(group)
        if self._are_uneven(group, policy, stats):
            return
        newest = min(_counts(group, "boundary", stats))
        if not policy.measuring:
            if newest - policy.measured_at >= MEASURE_EVERY:
                policy.measuring, policy.measured_at = True, newest
                self._send_all(group, policy)
            return
        if newest in (0, policy.looked_at):
            return
        for boundary in (newest - 1, newest):
            if boundary > 0 and boundary not in policy.tables:
                tables = tables_of(group, boundary)
                if tables is not None:
                    policy.tables[boundary] = tables
        for boundary in [old for old in policy.tables if old < newest - 1]:
            del policy.tables[boundary]
        earlier, later = policy.tables.get(newest - 1), policy.tables.get(newest)
        if later is None:
            return
        self._looks.look(group, policy, newest, later)
        # Boundaries made before the workers began to measure have no hashes of the step's begin.
        first = policy.measured_at + 2 if policy.peer else 0
        if earlier is not None and newest > first and measured(earlier, later):
            self._found(group, policy, newest, classify(earlier, later))

    def _found(self, group: Sequence[Rank], policy: GroupPolicy, boundary: int, finding: Finding) -> None:
        policy.note(finding)
        if policy.peer:
            policy.measuring, policy.measured_at = False, max(policy.tables, default=policy.measured_at)
            policy.tables.clear()
            if finding.obstacle or not policy.covers(finding.classes):
                self._change(group, policy, peer=False, why=finding.obstacle or "blocks have changed their class")
            else:
                self._send_all(group, policy)
            return
        agreed = policy.agreed()
        if agreed is None:
            if why := policy.hopeless():
                policy.settled = True
                self._change(group, policy, peer=False, why=why)
        elif not policy.barrier or policy.classes != finding.classes:
            # First the barrier everywhere, for a whole step; only then may copies be left out.
            policy.classes, policy.barrier = agreed, True
            self._send_all(group, policy)
            policy.barrier_since = max(_counts(group, "boundary")) + 1
        elif boundary > policy.barrier_since and policy.reserve.ready():
            self._change(group, policy, peer=True, why="replicas agree")

    def _change(self, group: Sequence[Rank], policy: GroupPolicy, peer: bool, why: str) -> None:
        if policy.peer and not peer:
            # The barrier stays until every rank has a boundary with copies of all blocks.
            policy.leaving_at = max(_counts(group, "boundary")) + 1
        elif not peer:
            policy.barrier = False
        policy.peer, policy.measuring = peer, not peer
        if peer:
            self._note(group, policy)
        policy.measured_at = max(policy.tables, default=0)
        policy.forget()
        how = "peers give back what they hold" if peer else "copies of all blocks"
        who = ", ".join(one.label() for one in sorted(group, key=lambda one: (one.rank, one.number)))
        print(f"jitc-proxyd: {who}: {how} ({why})", file=sys.stderr, flush=True)
        self._send_all(group, policy)

    def _leave(self, group: Sequence[Rank], policy: GroupPolicy) -> None:
        """Ends peer mode, once every kept boundary has all its copies."""
        assert policy.leaving_at is not None
        if policy.leaving_at == UNKNOWN:
            policy.leaving_at = max(_counts(group, "boundary")) + 1
            return self._send_all(group, policy)
        if min(_counts(group, "committed")) > policy.leaving_at:
            policy.leaving_at, policy.barrier = None, False
            policy.reserve = self._fresh_reserve()
            self._note(group, policy)
            self._send_all(group, policy)

    def _fresh_reserve(self, boundary: int = 0) -> Reserve:
        return Reserve(self._ranks.config.reserve_share, boundary)

    def _keep_reserve(self, group: Sequence[Rank], policy: GroupPolicy) -> None:
        reserve, stats = policy.reserve, stats_of(group)
        if reserve.advance([Standing.told(stats.get(one.number, {})) for one in group], time.monotonic()):
            self._note(group, policy)
            self._send_all(group, policy)

    def _are_uneven(self, group: Sequence[Rank], policy: GroupPolicy, stats: Stats) -> bool:
        """Returns whether the ranks make different steps. The job then does not rely on peers or compare ranks by
        number."""
        if text := policy.unevenness.alone(group, stats):
            print(f"jitc-proxyd: job {self._ranks.job_of(group[0])}: {text}", file=sys.stderr, flush=True)
            for session in group:
                tell(session, text)
        if policy.unevenness.begins(group, stats):
            policy.settled = True
            self._change(group, policy, peer=False, why="its ranks, or threads, make different optimizer steps")
        return policy.unevenness.found

    # -- replicas ---------------------------------------------------------------------------------

    def _watch(self, group: Sequence[Rank], policy: GroupPolicy) -> None:
        """Compares a group that is no longer measured: copies have hashes."""
        stats = stats_of(group)
        if self._are_uneven(group, policy, stats):
            return
        newest = min(_counts(group, "committed" if policy.spaced else "boundary", stats))
        policy.looking = not 0 <= newest - policy.looked_at < MEASURE_EVERY
        tables = tables_of(group, newest) if policy.looking and newest else None
        if tables is not None:
            policy.looking = False
            self._looks.look(group, policy, newest, tables)

    def _note(self, group: Sequence[Rank], policy: GroupPolicy) -> None:
        reserve = policy.reserve
        for session in group:
            session.peer_mode, session.reserve = policy.needs_peers(), reserve.boundary
            session.reserves_apart = reserve.apart if reserve.boundary else 0
        self._ranks.note(*group)

    def _send_all(self, group: Sequence[Rank], policy: GroupPolicy) -> None:
        for session in group:
            self._send(session, policy)

    def _send(self, session: Rank, policy: GroupPolicy) -> None:
        classes = policy.classes.get(session.number) if policy.barrier else None
        request = worker_pb2.Policy(
            session=session.number,
            copy_all=not policy.peer,
            barrier=policy.barrier,
            volatile_ordinals=sorted(classes.mutable) if classes else [],
            unique_ordinals=sorted(classes.rank_local) if classes else [],
            known_ordinals=sorted(classes.classified) if classes else [],
            measure_every=1 if policy.measuring and not policy.settled else 0,
            reserve=policy.reserve.boundary,
            next_reserve=policy.reserve.wanted,
        )
        have_taken(session, "SetPolicy", request, "policy")


def _counts(group: Sequence[Rank], name: str, stats: Stats | None = None) -> list[int]:
    """Returns a counter of each rank, queried now if it was not before; 0 if a worker does not answer."""
    stats = stats_of(group) if stats is None else stats
    return [int(stats.get(session.number, {}).get(name, 0)) for session in group]
