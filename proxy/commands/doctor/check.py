"""Checks and their findings: what a check is, what it is for, and how all of them are run.

Called by: command.py; the modules of checks, which build findings. Promises: a check that raises becomes a finding
without a verdict, or a bad one where a module is missing, so that no check ends the command or hides another; what is
said is one printable line, whatever names and paths are in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jitc.client_shim.native_parts.installation import remedy

from ...common.printable import printable

GOOD, BAD, UNKNOWN = VERDICTS = "good", "bad", "unknown"
#: Characters that are shown of one line.
_MOST = 1000


class NoVerdict(Exception):
    """A check cannot be made; the text says why."""

    remedy = "see whether it works by hand"


@dataclass(frozen=True)
class Finding:
    """The result of a check. remedy: what to do if the verdict is not good."""

    verdict: str
    says: str
    remedy: str = ""


def good(says: str) -> Finding:
    return Finding(GOOD, says)


def bad(says: str, remedy: str) -> Finding:
    return Finding(BAD, says, remedy)


def unknown(says: str, remedy: str) -> Finding:
    return Finding(UNKNOWN, says, remedy)


@dataclass(frozen=True)
class Context:
    """The question: which device, service, program and cluster it is about. socket: empty stands for a client's
    default."""

    device: str
    socket: str = ""
    program: tuple[str, ...] = ()
    #: Settings of the cluster that the command line has, by name.
    cluster: Mapping[str, str] = field(default_factory=dict, compare=False)
    _known: dict[Callable[[Context], Any], Any] = field(default_factory=dict, compare=False)

    def once(self, find: Callable[[Context], Any]) -> Any:
        """Returns what the function finds for this context, or raises its NoVerdict; several checks share one call of
        it."""
        if find not in self._known:
            try:
                self._known[find] = find(self)
            except NoVerdict as error:
                self._known[find] = error
        found = self._known[find]
        if isinstance(found, NoVerdict):
            raise found
        return found


@dataclass(frozen=True)
class Check:
    """A point to look at. look: returns None where the point does not arise; devices: empty stands for all."""

    name: str
    look: Callable[[Context], Finding | None]
    devices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """A finding with the check that made it."""

    group: str
    name: str
    finding: Finding


def run(groups: Iterable[tuple[str, Iterable[Check]]], context: Context) -> Iterator[Result]:
    """Runs the checks that concern the device. Returns what they found, in their order."""
    for group, checks in groups:
        for one in checks:
            if one.devices and context.device not in one.devices:
                continue
            if (finding := _looked(one, context)) is not None:
                yield Result(group, one.name, _shown(finding))


def _looked(check: Check, context: Context) -> Finding | None:
    try:
        return check.look(context)
    except NoVerdict as error:
        return unknown(str(error), error.remedy)
    except ImportError as error:
        return bad(f"jitc's installation is broken: {error}", remedy())
    except Exception as error:
        why = str(error) or "no reason given"
        return unknown(f"this check failed: {type(error).__name__}: {why}", "report it, with this line")


def _shown(finding: Finding) -> Finding:
    return Finding(finding.verdict, printable(finding.says, _MOST), printable(finding.remedy, _MOST))
