"""What two quiet runs of a program and a struck one say about it.

Called by: campaign.py, tests. Promise: only what is identical on all ranks is IDENTICAL; a run that ended with other
content and without a word is never taken for anything but DIFFERENT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .pool import ENDED, HUNG, Ran

#: Identical; a loud end; the rest are defects.
IDENTICAL, LOUD = "identical", "loud"
DIFFERENT, REPLAYED, STUCK = "silently different", "wrong in its replay", "hung"
UNSTABLE, BROKEN, ALARM = "differs from run to run", "broken", "false alarm"
#: jitc says so itself: an exception that it did not expect; ranks that were compared after a recovery and differ.
OWN, UNPROVEN = "a defect of jitc's own", "not proven"
#: No part of the grammar raises by itself, and the quiet run of the same program has not: an error that is called the
#: program's own, or that nothing explains, is jitc's. (Three errors that are injected at one and the same op would be
#: handed over rightly; nobody has drawn them yet.)
RAISED = "an error that the program does not have"
#: But memory that the machine does not have: `jitc` says so, after the kernel has ended the worker twice for it.
HANDED_OVER, STARVED = "the program's own error", "twice at about the same place"
#: What recoveries say then. Programs of the grammar are deterministic: where a replay came out otherwise, what was
#: restored was wrong, whether or not the difference was tolerated.
HAS_A_DEFECT, NOT_PROVEN = "jitc has a defect", "not proven: "
ANOTHER_RESULT = ("gave another result in replay", "not bit-identical")
RECOVERED = "recovered"


@dataclass
class Verdict:
    kind: str
    why: str = ""
    outcomes: list[str] = field(default_factory=list)  # of the recoveries of the struck run
    seconds: list[float] = field(default_factory=list)  # of the runs

    @property
    def defect(self) -> bool:
        return self.kind not in (IDENTICAL, LOUD)


def of_quiet(quiet: Ran, again: Ran | None = None) -> Verdict | None:
    """What is wrong without a fault; None: nothing."""
    for one in filter(None, (quiet, again)):
        if one.how == HUNG:
            return Verdict(STUCK, "without a fault")
        if one.how != ENDED:
            return Verdict(BROKEN, f"without a fault: {last_line(one.said)}")
        if one.outcomes or one.divergences:
            return Verdict(ALARM, f"{one.causes} {one.outcomes}, {one.divergences} divergences without a fault")
    if again and (difference := first_difference(again.records, quiet.records)):
        return Verdict(UNSTABLE, f"without a fault: {difference}")
    return None


def of_struck(quiet: Ran, struck: Ran) -> Verdict:
    loud = "; ".join(sorted({one for one in struck.outcomes if one != RECOVERED}))
    difference = first_difference(struck.records, quiet.records) if struck.how == ENDED else ""
    if wrong := _wrong(struck):
        ended = difference if struck.how == ENDED else f"it {struck.how}" if loud else last_line(struck.said)
        kind, why = wrong, "; ".join(filter(None, (loud, ended)))
    elif struck.how == HUNG:
        kind, why = STUCK, f"outcomes {struck.outcomes}"
    elif struck.how != ENDED:
        kind, why = LOUD, loud
    elif difference:
        kind, why = (LOUD, f"{loud}: {difference}") if loud else (DIFFERENT, difference)
    elif struck.divergences:
        kind, why = ALARM, f"{struck.divergences} divergences, and nothing differs"
    else:
        kind, why = IDENTICAL, loud
    return Verdict(kind, why, struck.outcomes)


def _wrong(struck: Ran) -> str:
    """The defect that the recoveries themselves tell of, however the run ended, or an error that none of them tells of;
    empty: there is none."""
    for one in struck.outcomes:
        if HAS_A_DEFECT in one:
            return OWN
    for one in struck.outcomes:
        if one.startswith(NOT_PROVEN):
            return UNPROVEN
        if any(each in one for each in ANOTHER_RESULT):
            return REPLAYED
    if any(HANDED_OVER in one and STARVED not in one for one in struck.outcomes):
        return RAISED
    unexplained = struck.how not in (ENDED, HUNG) and all(one == RECOVERED for one in struck.outcomes)
    return RAISED if unexplained else ""


def first_difference(got: Sequence[list[dict[str, Any]]], expected: Sequence[list[dict[str, Any]]]) -> str:
    """By rank, part and name; empty: there is none."""
    if len(got) != len(expected) or not expected:
        return f"{len(got)} ranks instead of {len(expected)}"
    for rank, (mine, other) in enumerate(zip(got, expected, strict=True)):
        if [sorted(one) for one in mine] != [sorted(one) for one in other]:
            return f"rank {rank} has other parts"
        for here, there in zip(mine, other, strict=True):
            for name, value in there.items():
                if here[name] != value:
                    return f"rank {rank}, part {here['part']}: {name}{_where(here[name], value)} differ"
    return ""


def _where(got: Any, expected: Any) -> str:
    if not isinstance(expected, list):
        return ""
    pairs = enumerate(zip(got, expected, strict=False))
    return f" from number {next((at for at, (a, b) in pairs if a != b), min(len(got), len(expected)))} on"


def last_line(text: str) -> str:
    """Of what a rank said; the error is there."""
    lines = [one.strip() for one in text.splitlines() if one.strip() and not one.startswith("frame #")]
    errors = [one for one in lines if "Error: " in one] or [one for one in lines if "error" in one]
    return (errors or lines or ["it said nothing"])[-1][:300]
