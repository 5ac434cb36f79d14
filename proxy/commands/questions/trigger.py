"""When a fault happens, as `jitc inject KIND --at TRIGGER` is told. Called by: command.py."""

from __future__ import annotations

import argparse

from jitc.ops.faults import KINDS, LONELY_SKIP, PHASES, wrong_trigger
from jitc.ops.options.values import Number
from jitc.v1.control_pb2 import Fault

from ..options import USAGE, CommandError, number, shown
from ..parser import meant

_TRIGGERS = "write boundary=12,phase=backward[,skip=5], op=1234 or after=100"
#: What a trigger's numbers are called in the message, and the least of each.
_NUMBERS = {"boundary": ("boundary", 0), "skip": ("skip", 0), "op": ("sequence", 1), "after": ("operations", 1)}


def parse_trigger(kind: str, at: str | None) -> Fault:
    """Returns the fault of `jitc inject KIND --at AT`. Raises CommandError."""
    from jitc.v1.control_pb2 import Fault

    if kind not in KINDS:
        raise CommandError(f"there is no fault {shown(kind)}{meant(kind, KINDS, known=True)}", USAGE)
    fault = Fault(kind=kind)
    given: set[str] = set()
    for part in [] if at is None else at.split(","):
        name, _, value = part.partition("=")
        if name in given:
            raise CommandError(f"--at: {name} is there twice; {_TRIGGERS}", USAGE)
        given.add(name)
        _enter(fault, name, value, part)
    lonely = "skip" in given and not {"boundary", "phase"} & given
    if why := LONELY_SKIP if lonely else wrong_trigger(fault):
        raise CommandError(f"--at: {why}; {_TRIGGERS}", USAGE)
    return fault


def _enter(fault: Fault, name: str, value: str, part: str) -> None:
    if name == "phase":
        if value not in PHASES:
            raise CommandError(f"--at: there is no phase {shown(value)}{meant(value, PHASES, known=True)}", USAGE)
        fault.phase = value
        return
    if name not in _NUMBERS:
        raise CommandError(f"--at: {shown(part)} is not understood; {_TRIGGERS}", USAGE)
    field, least = _NUMBERS[name]
    try:
        setattr(fault, field, number(Number(least, 10**18 - 1))(value))
    except argparse.ArgumentTypeError as error:
        raise CommandError(f"--at: {name}: {error}", USAGE) from None
    fault.armed_at_boundary |= name == "boundary"
