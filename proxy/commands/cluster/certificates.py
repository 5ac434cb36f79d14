"""Finds the certificates in a folder, of a CA with its nodes or of one node, and judges them.

Called by: command.py (`show`), ../doctor/cluster. Promises: nothing but the standard library is needed; a file that
cannot be read or used is a certificate with a reason, not an error.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from ...cluster.peers import der, names
from ...cluster.peers.identity import AUTHORITY, CERTIFICATE, WARN_DAYS, CredentialsError, read_identity
from ...status.cluster import Certificate, Cluster, Store
from ..options import CommandError

GOOD, SOON, EARLY, EXPIRED, UNUSABLE = "good", "soon", "early", "expired", "unusable"
#: What makes the exit status 1.
BAD = (EXPIRED, UNUSABLE)
DAY = 86400
_NODES = "nodes"
_ANOTHER_CA = "make another CA with `jitc cluster init --folder DIR`, and give all nodes certificates of it"


def cluster_in(folder: Path, store: Store | None) -> Cluster:
    """Returns the certificates in a folder. Raises CommandError for one that has none, if there is no store either."""
    if not (folder / AUTHORITY).exists():
        text = f"there is no CA in {folder}; `jitc cluster init` makes one"
        if store is None:
            raise CommandError(text)
        none = _unreadable(folder / AUTHORITY, folder.name, text)
        return Cluster(folder=str(folder), authority=none, nodes=[], store=store)
    own = [folder] if (folder / CERTIFICATE).exists() else []
    below = sorted(folder.glob(f"{_NODES}/*")) if (folder / _NODES).is_dir() else []
    nodes = [*own, *(one for one in below if names.is_name(one.name) and one.is_dir())]
    authority = read(folder / AUTHORITY, folder.name, _ANOTHER_CA)
    found = [_of_node(one, folder) for one in nodes]
    return Cluster(folder=str(folder), authority=authority, nodes=found, store=store)


def _of_node(place: Path, folder: Path) -> Certificate:
    name = _name(place) if place == folder else place.name
    found = read(place / CERTIFICATE, name, f"`jitc cluster rotate {name}`")
    if found.state in (GOOD, SOON) and (reason := _trouble(place, name)):
        return replace(found, state=UNUSABLE, reason=reason)
    return found


def _name(place: Path) -> str:
    try:
        return der.from_pem((place / CERTIFICATE).read_bytes()).name
    except (OSError, ValueError):
        return place.name


def _trouble(place: Path, name: str) -> str:
    """Returns why a service cannot use the folder; empty: it can."""
    try:
        found = read_identity(place)
    except CredentialsError as error:
        return str(error)
    return "" if found.node == name else f"{place / CERTIFICATE} is that of node {found.node}"


def read(path: Path, name: str, remedy: str) -> Certificate:
    """Returns a certificate by its dates alone. remedy: for one that has expired, or soon will."""
    try:
        found = der.from_pem(path.read_bytes())
    except OSError as error:
        return _unreadable(path, name, f"{path} cannot be read: {error.strerror}")
    except ValueError as error:
        return _unreadable(path, name, f"{path} is no certificate: {error}")
    now = time.time()
    state = _state(found, now)
    early = f"valid from {der.day(found.begins)} on: clocks may differ"
    return Certificate(
        name=found.name if path.name == AUTHORITY else name, path=str(path), state=state,
        reason={GOOD: "", EARLY: early}.get(state, remedy), begins=found.begins, ends=found.ends,
        days_left=max(0, int((found.ends - now) // DAY)), sha256=found.hash,
    )  # fmt: skip


def _state(found: der.Certificate, now: float) -> str:
    if now > found.ends:
        return EXPIRED
    if now < found.begins:
        return EARLY
    return SOON if found.ends - now < WARN_DAYS * DAY else GOOD


def _unreadable(path: Path, name: str, reason: str) -> Certificate:
    return Certificate(
        name=name, path=str(path), state=UNUSABLE, reason=reason, begins=None, ends=None, days_left=None, sha256=""
    )
