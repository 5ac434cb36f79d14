"""Sets of nodes that stay between the commands of a shell: a file for each says which processes hold them.

Called by: command.py. Promises: a file is whole or not there; a set that has lost its switch, or whose owner has ended,
is ended when the next one is made.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..campaign import documents
from .faults import Faults
from .namespaces import NamespaceNodes
from .spaces import Holder, end, is_alive

#: All sets of this machine are here, and are swept together, unless a test wants to be alone.
FOLDER = Path(os.environ.get("JITC_TEST_NODES") or "/run/jitc-nodes")


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Lets one command at a time read or change what is kept."""
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def exists(name: str) -> bool:
    return _file(name).exists()


def save(name: str, nodes: NamespaceNodes, owner: Holder | None) -> None:
    """Keeps the set as it is now. owner: a process after whose end the set is ended too, when another one is made."""
    document = {
        "owner": owner,
        "switch": nodes.switch.holder,
        "nodes": list(nodes.holders().items()),
        "faults": nodes.switch.faults.document(),
    }
    documents.write(_file(name), document)


@contextlib.contextmanager
def changed(name: str) -> Iterator[NamespaceNodes]:
    """Has the set, and keeps it as it is in the end. Raises ProcessLookupError where it has ended."""
    kept = _read(name)
    nodes = {number: Holder(*holder) for number, holder in kept["nodes"]}
    try:
        found = NamespaceNodes.join(Holder(*kept["switch"]), nodes, Faults.read(kept["faults"]))
    except ProcessLookupError:
        raise ProcessLookupError("the nodes have ended; clear up: nodes.sh down") from None
    try:
        yield found
    finally:
        save(name, found, _owner(kept))


def holders(name: str) -> list[Holder]:
    """Returns the processes that hold the set, the switch's first."""
    kept = _read(name)
    return [Holder(*one) for one in (kept["switch"], *(holder for _, holder in kept["nodes"]))]


def remove(name: str) -> None:
    """Ends the set."""
    for one in holders(name):
        end(one)
    _file(name).unlink()


def sweep() -> None:
    """Ends what has lost its owner or its switch."""
    for file in FOLDER.glob("*.json"):
        kept = _read(file.stem)
        if not all(is_alive(one) for one in (Holder(*kept["switch"]), _owner(kept)) if one):
            remove(file.stem)


def _owner(kept: dict[str, Any]) -> Holder | None:
    return Holder(*kept["owner"]) if kept["owner"] else None


def _read(name: str) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(_file(name).read_text())
    return kept


def _file(name: str) -> Path:
    return FOLDER / f"{name}.json"
