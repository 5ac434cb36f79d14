"""`jitc cluster show --json`: the certificates in a folder, and the store.

Called by: commands/cluster; schema.py and tables.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from .model import SECONDS, TIME, says


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
class Member:
    """A member of the store."""

    address: str = says("HOST:PORT, as `--cluster` has it")
    version: str = says("its release of etcd; empty: it does not answer")
    leads: bool = says("whether it leads the members")
    seconds: float | None = says("until it has answered; null: it has not", SECONDS)
    trouble: str = says("why it does not answer, or what it complains of, such as the alarm NOSPACE; empty: nothing")


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node that stands in the store: its service runs, or has ended within seconds."""

    name: str = says("its name")
    number: int = says("its number in the cluster")
    peer_address: str = says("where its service is reached by others")
    bridge_address: str = says("where its bridge is reached by others")
    sha256: str = says("the SHA-256 of its certificate, as it says itself")
    seconds: float | None = says("of a call to its service; null: there was none", SECONDS)
    clock_ahead: float | None = says("by which its clock is ahead of the one here; null: not known", SECONDS)
    troubles: list[str] = says(
        "why service or bridge are not reached, or do not fit this installation; empty: no reason"
    )


@dataclass(frozen=True, kw_only=True)
class Store:
    """The store of the cluster in which this machine is to be."""

    location: str = says("where it is, as `--cluster` has it")
    seconds: float | None = says("of a read; null: it could not be read", SECONDS)
    trouble: str = says("why it cannot be read or written; empty: it can")
    members: list[Member] = says("its members that `--cluster` names")
    nodes: list[Node] = says("the nodes that stand in it, by name")


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """The certificates of a cluster's CA and its nodes, and its store."""

    folder: str = says("where they are")
    authority: Certificate = says("that of the CA")
    nodes: list[Certificate] = says("those of the nodes, by name")
    store: Store | None = says("the store and the nodes in it; null: no setting names one")
