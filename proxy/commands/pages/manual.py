"""Manuals (man 1) of the commands, made from their parsers.

Called by: `python -m jitc.proxy.commands.pages`. Promise: output depends only on the parsers and the version.
"""

from __future__ import annotations

import argparse

from argparse_manpage.manpage import Manpage

_SUMMARIES = {
    "jitc": "training that survives faults of GPUs: run programs, ask a service",
    "jitc-proxyd": "node service that owns GPUs and recovers training from their faults",
}
_OTHERS = {"jitc": "jitc-proxyd", "jitc-proxyd": "jitc"}


def manual(parser: argparse.ArgumentParser) -> str:
    """Returns the manual in roff."""
    made = Manpage(parser, format="single-commands-section")
    made.date, made.source, made.manual, made.description = "", "jitc", "jitc", _SUMMARIES[parser.prog]
    return str(made).rstrip() + f"\n\n.SH SEE ALSO\n\\fB{_OTHERS[parser.prog]}\\fR(1)\n"
