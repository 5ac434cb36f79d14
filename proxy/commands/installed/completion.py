"""`jitc completion SHELL`: a script with which a shell completes the words of the commands.

Called by: jitc.py. Promise: commands, options and their fixed values are those of the parsers; nothing is installed.
"""

from __future__ import annotations

import argparse

from jitc.ops.faults import KINDS

from ..options import CommandError

SHELLS = ("bash", "zsh", "tcsh")


def script(shell: str) -> str:
    """Returns the script for both commands. Raises CommandError."""
    try:
        import shtab
    except ImportError:
        raise CommandError("completion needs the package shtab, which is missing; run `pip install shtab`") from None
    from .. import jitc, proxyd

    found = []
    for parser in (jitc.parser(), proxyd.parser()):
        _tell(parser, shtab)
        found.append(shtab.complete(parser, shell=shell).rstrip() + "\n")
    return "\n".join(found)


def _tell(parser: argparse.ArgumentParser, shtab: object) -> None:
    """Sets what the parser itself does not say: which values are files, and the kinds of faults."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                _tell(one, shtab)
        elif action.metavar in ("FILE", "PATH"):
            action.complete = getattr(shtab, "FILE")  # type: ignore[attr-defined]  # noqa: B009
        elif action.metavar == "DIR":
            action.complete = getattr(shtab, "DIRECTORY")  # type: ignore[attr-defined]  # noqa: B009
        elif action.metavar == "FAULT":
            action.choices = KINDS
