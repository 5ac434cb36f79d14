"""The document of `jitc status`, for one tenant or several.

Called by: the Admin service. Promise: a GPU stands in it once, with the sessions of all tenants that are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ...ranks.states import SessionState
from ...ranks.stats import stats_of
from ...status import node as model
from ...status.documents import document, mistakes
from ..gpus import Gpu
from ..registry import Registry
from ..session import Session

# The worker's names for the phases (proxy/native/executor, boundary_times.h), in the order of a boundary.
_BOUNDARY_PHASES = ("drain", "hash", "copy", "beside", "record", "gather")
#: States of a GPU for different tenants, from the one that users should know of first.
_STATES = ("failed", "recovering", "starting", "ready")


@dataclass(frozen=True)
class Elsewhere:
    """The part of other nodes in a session. nodes: those that have ranks of its job; trouble: why the job cannot be
    recovered at present; empty: nothing is known."""

    nodes: Sequence[str] = ()
    trouble: str = ""


class Races(Protocol):
    """Races (../../health/races.py)."""

    def count(self, session: int) -> int: ...


class Tenant(Protocol):
    """The parts of a tenant that are shown."""

    @property
    def user(self) -> str: ...
    @property
    def registry(self) -> Registry: ...
    @property
    def races(self) -> Races: ...
    def elsewhere(self, session: Session) -> Elsewhere: ...


def status_of(tenants: Sequence[Tenant], started: float) -> model.Status:
    """Returns the document. started: when the service was, in seconds since 1970."""
    first = tenants[0].registry
    gpus = [_merged([_gpu(one, one.registry.gpus[gpu.index]) for one in tenants]) for gpu in first.gpus]
    held = sum(one.copies_held_bytes for gpu in gpus for one in gpu.sessions)
    limit = sum(one.registry.config.snapshot_bytes for one in tenants)
    copies = model.Copies(held_bytes=held, limit_bytes=limit)
    return model.Status(gpus=gpus, copies=copies, shuffle=first.config.shuffle, started=started, nodes=[])


def _merged(views: list[model.GpuStatus]) -> model.GpuStatus:
    """Returns one description of a GPU that several tenants use."""
    workers = [one.worker_pid for one in views if one.worker_pid is not None]
    return replace(
        views[0],
        state=min((one.state for one in views), key=_STATES.index),
        worker_pid=workers[0] if workers else None,
        memory_used=sum(one.memory_used for one in views),
        sessions=[session for one in views for session in one.sessions],
        recoveries=sum(one.recoveries for one in views),
    )


def _gpu(tenant: Tenant, gpu: Gpu) -> model.GpuStatus:
    registry = tenant.registry
    with registry.changed:
        sessions = [one for one in registry.sessions.values() if one.gpu == gpu.index]
        waiting = {one.number: registry.communicators.waiting_for(one) for one in sessions}
        hosted = [one for one in registry.sessions.values() if one.host == gpu.index]
        workers, state = registry.workers_of(gpu), registry.state_of(gpu)
    stats = stats_of({*sessions, *hosted})
    return model.GpuStatus(
        index=gpu.index,
        node=registry.config.node,
        device=registry.backend.device,
        name=gpu.facts.name,
        physical=gpu.facts.physical,
        state=state,
        worker_pid=workers[0].pid if workers else None,
        spare=gpu.spare,
        memory_used=sum(_memory(stats.get(one.number, {})) for one in hosted),
        memory_total=gpu.facts.memory_total,
        sessions=[
            _session(tenant, one, stats.get(one.number, {}), waiting[one.number])
            for one in sessions
            if one.state is not SessionState.CLOSED
        ],
        recoveries=gpu.recoveries,
    )


def _session(tenant: Tenant, session: Session, stats: dict[str, Any], waiting_for: str) -> model.SessionStatus:
    """Describes a session; without its worker's counters if they are no such ones, as a user's own worker may send."""
    try:
        found = _described(tenant, session, stats, waiting_for)
        if not any(mistakes(document(found), model.SessionStatus)):
            return found
    except (ValueError, TypeError, AttributeError, OverflowError):
        pass
    return _described(tenant, session, {}, waiting_for)


def _described(tenant: Tenant, session: Session, stats: dict[str, Any], waiting_for: str) -> model.SessionStatus:
    worker, elsewhere = session.worker, tenant.elsewhere(session)
    return model.SessionStatus(
        pid=session.pid,
        user=tenant.user,
        node=tenant.registry.config.node,
        other_nodes=list(elsewhere.nodes),
        job=tenant.registry.job_of(session),
        worker_pid=worker.pid if worker is not None and worker.alive() else None,
        rank=session.rank,
        world_size=session.world_size,
        host=session.host,
        state=session.state.value,
        waiting_for=waiting_for,
        trouble=elsewhere.trouble,
        boundary=int(stats.get("boundary", 0)),
        journal_bytes=int(stats.get("journal_bytes", 0)),
        memory_used=int(stats.get("memory_used", 0)),
        copies_bytes=int(stats.get("snapshot_bytes", 0)),
        copies_held_bytes=int(stats.get("snapshot_held", 0)),
        boundary_phases=_boundary_phases(stats),
        turns=_turns(stats),
        ops_executed=int(stats.get("ops_executed", stats.get("executed", 0))),
        diverged=session.diverged,
        compared=session.compared,
        uneven_steps=session.uneven,
        boundaries_apart=session.boundaries_apart,
        reserve=model.Reserve(boundary=session.reserve, every=session.reserves_apart),
        hang_seconds=session.hang_seconds,
        races=tenant.races.count(session.number),
    )


def _memory(stats: dict[str, Any]) -> int:
    used = stats.get("memory_used", 0)
    return used if isinstance(used, int) else 0


def _turns(stats: dict[str, Any]) -> model.Turns:
    """Returns the session's turns at its GPU, from its worker's counters; zeros for a session that has taken none."""
    told: dict[str, Any] = {"moved_out": 0, "bytes": 0, "seconds": 0.0, "waits": False} | stats.get("turns", {})
    return model.Turns(**told)


def _boundary_phases(stats: dict[str, Any]) -> model.BoundaryPhases:
    """Returns all phases always: zeros for a worker that does not answer, or has had no boundary."""
    told: dict[str, Any] = stats.get("boundary_phases", {})
    seconds = dict.fromkeys(_BOUNDARY_PHASES, 0.0) | told.get("seconds", {})
    sums: dict[str, Any] = {"boundaries": 0, "hashed_bytes": 0, "copied_bytes": 0} | told | {"seconds": seconds}
    return model.BoundaryPhases(**sums)
