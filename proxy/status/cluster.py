"""`jitc cluster show --json`: the certificates in a folder. Called by: commands/cluster; schema.py and tables.py."""

from __future__ import annotations

from dataclasses import dataclass

from .model import TIME, says


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A certificate, of the CA or of a node."""

    name: str = says("name of the CA, or of the node")
    path: str = says("its file")
    state: str = says(
        "`good`, `soon` (it expires within 30 days), `early` (it is not valid yet), `expired` or `unusable`"
    )
    reason: str = says("why it is unusable, or what to do; empty: nothing is wrong")
    begins: float | None = says("from when on it is valid; null: it cannot be read", TIME)
    ends: float | None = says("until when it is valid; null: it cannot be read", TIME)
    days_left: int | None = says("whole days until then, 0: none or less than one; null: it cannot be read")
    sha256: str = says("the SHA-256 of it, which the store has for the node; empty: it cannot be read")


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """The certificates of a cluster's CA and its nodes."""

    folder: str = says("where they are")
    authority: Certificate = says("that of the CA")
    nodes: list[Certificate] = says("those of the nodes, by name")
