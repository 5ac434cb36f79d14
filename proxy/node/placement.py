"""Choice of the GPU that serves a session: its own, or another one when that is lost.

Called by: recoveries (a session gets a worker), the registry. Pure. Promises: a session is on its own GPU whenever that
can be used; else a spare GPU without sessions is taken before a GPU is shared, and the one with the fewest sessions is
shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from .gpus import Gpu


class Placed(Protocol):
    """The properties of a session that placement needs."""

    gpu: int  # its own
    host: int  # the one that serves it now


def place(session: Placed, gpus: Sequence[Gpu], sessions: Iterable[Placed]) -> Gpu | None:
    """Returns the GPU that is to serve the session; None: no GPU of the node can be used."""
    own, host = gpus[session.gpu], gpus[session.host]
    if not own.lost:
        return own
    if not host.lost:
        return host
    others = [one.host for one in sessions if one is not session]
    able = [gpu for gpu in gpus if not gpu.lost]
    return min(able, key=lambda gpu: (others.count(gpu.index), not gpu.spare, gpu.index), default=None)


def shares(session: Placed, gpu: Gpu, sessions: Iterable[Placed]) -> bool:
    """Returns whether the session would be a guest on that GPU, beside one that is at home there, or another guest."""
    return session.gpu != gpu.index and any(one.host == gpu.index for one in sessions if one is not session)
