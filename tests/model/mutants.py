"""Defects put into the model and into the implementation, each with a name: every one must be found.

Called by: test_model_mutants.py, `python -m model --mutant NAME`. Promise: a mutant changes one rule of a worker
(worker.py, network.py), or one function or table of the real recovery while it is explored.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from unittest import mock

from jitc.proxy.ranks.states import SESSION_TABLE, SessionEvent, SessionState
from jitc.proxy.recovery import phases
from jitc.proxy.recovery import recovery as recovery_module
from jitc.proxy.recovery.decide import Decision, Kind, decide
from jitc.proxy.recovery.incident import Incident
from jitc.proxy.recovery.recovery import Recovery
from jitc.proxy.recovery.restore.restore import Restore

from .explore import Exploration, Found
from .network import Network
from .standins import Registry
from .state import Shape

#: Worlds of each shape that are looked at for a mutant.
MOST = 12_000
#: From cheap to dear: a mutant is found by the first that shows it.
SHAPES = (
    Shape(boundaries=1, faults=1, prompt=True),
    Shape(boundaries=1, faults=1, steady=True, peer_mode=True, prompt=True),
    Shape(boundaries=2, faults=1, prompt=True),
    Shape(boundaries=2, faults=1, extra=1, prompt=True),
    Shape(boundaries=1, faults=2, prompt=True),
    Shape(boundaries=1, faults=1),
    Shape(boundaries=1, faults=2, steady=True, peer_mode=True, prompt=True),
    Shape(boundaries=1, faults=2, damages=1, steady=True, prompt=True),
    Shape(boundaries=2, faults=1, restarts=1, prompt=True),
    Shape(boundaries=2, faults=1, peer_mode=True, prompt=True),
)

#: Rules of the workers, the journal and the board that are left out.
RULES = {
    "no-epoch-check": "a worker does what an earlier recovery asks",
    "fence-forgets-epoch": "a fence does not note its epoch for later calls",
    "fence-does-not-stop": "a fence lets the session run on",
    "rebuilt-runs-at-once": "a rebuilt session does not wait for its state",
    "missing-is-complete": "a roll-back says that it is complete though blocks are missing",
    "rollback-leaves-board": "a roll-back leaves the board as it was",
    "skip-keeps-content": "a skipped step leaves the content of before it",
    "resume-drops-import": "the boundary that a step was skipped to is never made",
    "finish-forgets-import": "FinishStep refuses a rank that has skipped to the boundary and not made it yet",
    "lost-until-resume": "what a rebuilt worker has got from a peer does not count before it is resumed",
    "import-without-epoch": "a late Import of an earlier recovery is carried out",
    "commit-by-number": "ranks commit boundaries of the same number",
    "commit-alone": "a rank commits what the others do not have yet",
    "announce-before-record": "a boundary of rank 0 is announced, but not in the journal",
    "no-barrier": "a step begins before all ranks have reached it",
    "segments-stay": "collectives of an epoch meet what was given in an earlier one",
    "results-not-in-journal": "a result is delivered before the journal has it",
    "replay-delivers-again": "a replay delivers results that the program has",
    "attach-sends-all": "a program that comes back gets all results again",
    "attach-sends-nothing": "a program that comes back does not get what it missed",
}


def _decides(act: Callable[..., Decision]) -> Any:
    return mock.patch.object(recovery_module, "decide", act)


def _newest(positions: Mapping[int, Any], *rest: Any, **more: Any) -> Decision:
    return _all_to(positions, max(one.prepared for one in positions.values()))


def _oldest(positions: Mapping[int, Any], *rest: Any, **more: Any) -> Decision:
    return _all_to(positions, min(one.committed for one in positions.values()))


def _by_number(positions: Mapping[int, Any], *rest: Any, **more: Any) -> Decision:
    return _all_to(positions, min(one.prepared for one in positions.values()))


def _newest_of_each(positions: Mapping[int, Any], *rest: Any, **more: Any) -> Decision:
    return Decision(Kind.ROLL_BACK, {number: one.prepared for number, one in positions.items()})


def _all_to(positions: Mapping[int, Any], boundary: int, kind: Kind = Kind.ROLL_BACK) -> Decision:
    return Decision(kind, dict.fromkeys(positions, boundary))


def _back_only(positions: Mapping[int, Any], peer_mode: bool, **more: Any) -> Decision:
    return decide(positions, False)


def _always_forward(
    positions: Mapping[int, Any], peer_mode: bool, forward_failed: bool = False, **more: Any
) -> Decision:
    found = decide(positions, peer_mode, forward_failed)
    boundary = min(one.prepared for one in positions.values())
    return _all_to(positions, boundary + 1, Kind.ROLL_FORWARD) if peer_mode and not forward_failed else found


def _of_healthy(positions: Mapping[int, Any], *rest: Any, **more: Any) -> Decision:
    healthy = {number: one for number, one in positions.items() if not one.lost}
    return decide(healthy or positions, *rest, **more)


def _each_its_own(restore: Any, session: Any, boundary: int, timeout_ms: int = 30_000) -> Any:
    from jitc.v1 import worker_pb2

    own = restore._positions[session.number].prepared
    return worker_pb2.RecoverRequest(session=session.number, epoch=restore._epoch, boundary=own)


def _one_answer(futures: Mapping[int, Any]) -> bool:
    return any(one.done() for one in futures.values())


def _keeps_half_restored(recovery: Recovery, why: str) -> bool:
    for event in recovery._events.take(recovery._concerns):
        recovery.incident.add(event, recovery._limits)
    recovery.timeline.fire(phases.PhaseEvent.FAULT)
    return True


def _rebuilds_without_fence(recovery: Recovery, epoch: int) -> None:
    for session in recovery.group:
        if session.state is SessionState.LOST:
            recovery._reopen(session)
    recovery.timeline.fire(phases.PhaseEvent.REBUILD)


def _resumes(chosen: Callable[[Recovery, Any], bool]) -> Any:
    before = Recovery._resume

    def act(recovery: Recovery, epoch: int) -> None:
        group, recovery.group = recovery.group, [one for one in recovery.group if chosen(recovery, one)]
        try:
            before(recovery, epoch)
        finally:
            recovery.group = group

    return mock.patch.object(Recovery, "_resume", act)


def _without(table: dict[Any, Any], *key: Any) -> Any:
    return mock.patch.dict(table, {one: state for one, state in table.items() if one != key}, clear=True)


#: What the implementation does otherwise.
PATCHES: dict[str, tuple[str, Callable[[], Any]]] = {
    "decide-newest": ("decide takes the newest boundary of any rank", lambda: _decides(_newest)),
    "decide-committed": ("decide goes back to a boundary that may have been given back", lambda: _decides(_oldest)),
    "decide-by-number": ("decide pairs boundaries by their numbers", lambda: _decides(_by_number)),
    "decide-newest-of-each": ("each rank goes back to its newest boundary", lambda: _decides(_newest_of_each)),
    "decide-back-only": ("decide never rolls forward", lambda: _decides(_back_only)),
    "decide-always-forward": ("decide rolls forward though nobody has begun", lambda: _decides(_always_forward)),
    "decide-of-healthy": ("decide does not ask lost ranks how far they were", lambda: _decides(_of_healthy)),
    "decide-for-each": (
        "each rank goes back to a boundary of its own", lambda: mock.patch.object(Restore, "_recover", _each_its_own)
    ),
    "same-epoch": (
        "a second attempt has the epoch of the first", lambda: mock.patch.object(Registry, "next_epoch", _same_epoch)
    ),
    "no-restore": ("ranks are resumed without a roll-back", lambda: mock.patch.object(Restore, "back", _stays)),
    "no-transfer": ("missing blocks are not brought", lambda: mock.patch.object(Restore, "_serve", _nothing)),
    "first-answer": (
        "the first answer counts for all ranks",
        lambda: mock.patch("jitc.proxy.recovery.worker_calls._over", _one_answer),
    ),
    "half-restored": (
        "an interrupted recovery keeps workers that have half of their memory",
        lambda: mock.patch.object(Recovery, "_again", _keeps_half_restored),
    ),
    "no-second-fence": (
        "rebuilt sessions are not fenced", lambda: mock.patch.object(Recovery, "_rebuild", _rebuilds_without_fence)
    ),
    "resume-lost-only": (
        "only rebuilt ranks are resumed", lambda: _resumes(lambda one, rank: rank.number in one._lost)
    ),
    "resume-healthy-only": (
        "only healthy ranks are resumed", lambda: _resumes(lambda one, rank: rank.number not in one._lost)
    ),
    "deaf": (
        "events do not interrupt a recovery", lambda: mock.patch.object(Incident, "concerns", lambda *_: False)
    ),
    "no-rebuild": ("lost ranks get no worker", lambda: mock.patch.object(Recovery, "_rebuild", _rebuilds_nothing)),
    "table-standby": (
        "a rebuilt session cannot be lost again",
        lambda: _without(SESSION_TABLE, SessionState.STANDBY, SessionEvent.LOSE),
    ),
    "table-fenced": (
        "a fenced session cannot be fenced again",
        lambda: _without(SESSION_TABLE, SessionState.FENCED, SessionEvent.FENCE),
    ),
    "table-phases": (
        "a replay cannot be interrupted",
        lambda: _without(phases.TABLE, phases.Phase.RESUMED, phases.PhaseEvent.FAULT),
    ),
}  # fmt: skip


def _same_epoch(registry: Registry, ranks: Any) -> int:
    registry.epoch = max(1, registry.epoch)
    registry._told.begin(registry.epoch)
    return registry.epoch


def _stays(restore: Restore, boundaries: Mapping[int, int]) -> Mapping[int, int]:
    return boundaries


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _rebuilds_nothing(recovery: Recovery, epoch: int) -> None:
    recovery.timeline.fire(phases.PhaseEvent.REBUILD)


class Mutant(NamedTuple):
    name: str
    says: str
    rules: frozenset[str]
    patch: Callable[[], Any]

    def found_by(self, shapes: tuple[Shape, ...] = SHAPES) -> tuple[Shape, Found] | None:
        """The first shape that shows it, and what it shows."""
        for shape in shapes:
            with self.patch():
                found = Exploration(Network(shape, self.rules), MOST, depth_first=True).run()
            if found.problem:
                return shape, found
        return None


MUTANTS = {
    **{name: Mutant(name, says, frozenset({name}), contextlib.nullcontext) for name, says in RULES.items()},
    **{name: Mutant(name, says, frozenset(), patch) for name, (says, patch) in PATCHES.items()},
}
