"""The users of an answer's jobs, and their nodes: jobs of two users, or of two nodes, may have the same name.

Called by: text.py, command.py, ../terminal. Promises: in an answer about several users each job has a name of its own,
which says whose it is; in one of several nodes, a job that is on one of them alone has not the name of one on another
node; an answer about one user's jobs on one node stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

#: The lists of a report whose entries have a job, and the one whose entries have a user alone.
_OF_JOBS, _OF_USERS = ("recoveries", "divergences", "races"), ("validations",)


def several_users(document: Mapping[str, Any]) -> bool:
    """Returns whether a status or report has jobs of more than one user."""
    return len({one.get("user", "") for one in _entries(document)} - {""}) > 1


def with_users(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the status or report with each job named "JOB of user USER", if it has jobs of several users, and "JOB of
    node NODE", if jobs of several nodes have one name."""
    found = _renamed(document, named) if several_users(document) else dict(document)
    homes: dict[str, set[str]] = {}
    for one in _entries(found) if found.get("nodes") else ():
        homes.setdefault(one.get("job", ""), set()).add(one["node"])
    if all(len(nodes) < 2 for nodes in homes.values()):
        return found

    def of_node(one: Mapping[str, Any]) -> dict[str, Any]:
        apart = len(homes[one["job"]]) > 1 and _on_one_node(one)
        return {**one, "job": f"{one['job']} of node {one['node']}"} if apart else dict(one)

    return _renamed(found, of_node)


def _renamed(document: Mapping[str, Any], rename: Callable[[Mapping[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """Returns the document with other names of jobs."""
    found = {kind: [rename(one) for one in document[kind]] for kind in _OF_JOBS if kind in document}
    if "gpus" in document:
        found["gpus"] = [gpu | {"sessions": [rename(one) for one in gpu["sessions"]]} for gpu in document["gpus"]]
    return {**document, **found}


def _on_one_node(one: Mapping[str, Any]) -> bool:
    """Returns whether the job of a session or an event is known to have ranks on no other node."""
    if "other_nodes" in one:
        return not one["other_nodes"]
    return {rank["node"] for rank in one.get("ranks", ())} == {one["node"]}


def named(one: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a session or an event whose job's name says whose it is; reports of an older service do not know."""
    user = one.get("user", "")
    return {**one, "job": f"{one['job']} of user {user}".lstrip()} if user else dict(one)


def _entries(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Returns the sessions of a status, or the events of a report."""
    for gpu in document.get("gpus", ()):
        yield from gpu["sessions"]
    for kind in (*_OF_JOBS, *_OF_USERS):
        yield from document.get(kind, ())
