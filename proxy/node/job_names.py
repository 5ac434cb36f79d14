"""Names of jobs: as their launchers call them, and no two alike.

Called by: registry.py, when a session begins. Promises: ranks of one launch get one name, also when they start again,
and under the next service; another job that has the same name is "NAME (2)", even when the first one has ended, since
reports may still speak of that.
"""

from __future__ import annotations

from ..keeper.log import Log

#: Jobs whose names are remembered; the oldest is forgotten first.
JOBS_MOST = 1024
_KEYS = "job/"


class JobNames:
    """The names that have been given, by the launches that have them. The registry's lock guards it."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._names: dict[str, str] = log.entries(_KEYS)

    def name(self, wanted: str, launch: str) -> str:
        """Returns the name for a launch whose launcher calls it so; empty if it has no name. An empty launch is one of
        a library that does not know of launches."""
        if not wanted or not launch:
            return wanted
        known = f"{wanted}\n{launch}"
        if known not in self._names:
            self._names[known] = self._free(wanted)
            self._log.put(_KEYS + known, self._names[known])
            if len(self._names) > JOBS_MOST:
                oldest = next(iter(self._names))
                del self._names[oldest]
                self._log.delete(_KEYS + oldest)
        return self._names[known]

    def _free(self, wanted: str) -> str:
        taken = set(self._names.values())
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted} ({number})"
        return name
