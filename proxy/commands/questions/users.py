"""The users of an answer's jobs: a job's name belongs to its user, and jobs of two users may have the same one.

Called by: text.py, command.py, ../terminal. Promises: in an answer about several users each job has a name of its own,
which says whose it is; an answer about one user's jobs stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: The lists of a report whose entries have a job, and the one whose entries have a user alone.
_OF_JOBS, _OF_USERS = ("recoveries", "divergences", "races"), ("validations",)


def several_users(document: Mapping[str, Any]) -> bool:
    """Returns whether a status or report has jobs of more than one user."""
    return len({one.get("user", "") for one in _entries(document)} - {""}) > 1


def with_users(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the status or report with each job named "JOB of user USER", if it has jobs of several users."""
    if not several_users(document):
        return dict(document)
    found = {kind: [named(one) for one in document[kind]] for kind in _OF_JOBS if kind in document}
    if "gpus" in document:
        found["gpus"] = [gpu | {"sessions": [named(one) for one in gpu["sessions"]]} for gpu in document["gpus"]]
    return {**document, **found}


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
