"""Decides how an answer is shown: as plain text, as tables, with or without colour; and how wide.

Called by: ../questions/command.py, watch.py, follow.py. Promises: without a terminal, and without `--color always`, the
answer is the plain text and Rich is not imported; no colour is used where `NO_COLOR`, `TERM` or the user forbids it; if
Rich is missing, the answer is the plain text.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

AUTO, ALWAYS, NEVER = COLOURS = ("auto", "always", "never")
#: Terminals without colour and without a cursor that can be moved; a terminal without a name is one of them.
_DUMB = ("", "dumb", "unknown")


def console(color: str) -> Console | None:
    """Returns what tables are printed with. None: the answer is plain text."""
    if color != ALWAYS and not on_terminal():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    coloured = _coloured(color)
    with contextlib.suppress(AttributeError):  # a stand-in for standard output
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    columns, lines = size()
    return Console(
        file=sys.stdout, force_terminal=True, color_system="standard" if coloured else None, no_color=not coloured,
        markup=False, highlight=False, emoji=False, width=columns, height=lines, legacy_windows=False,
    )  # fmt: skip


def print_tables(kind: str, document: Mapping[str, Any], color: str) -> bool:
    """Prints the tables of a document. Returns False, without printing, if plain text is wanted."""
    found = console(color)
    if found is None:
        return False
    from . import recoveries, tables

    pictures = {"status": tables.status, "report": recoveries.report, "validation": recoveries.validation}
    found.print(pictures[kind](document))
    return True


def on_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def can_redraw() -> bool:
    """Returns whether the terminal can show a picture in the place of another."""
    return on_terminal() and not _dumb()


def size() -> tuple[int, int]:
    """Returns columns and lines of the terminal, which COLUMNS and LINES override. Through a pipe these are the
    terminal's on which the command was typed, if there is one."""
    columns, lines = 0, 0
    for descriptor in (1, 2, 0):
        with contextlib.suppress(OSError):
            columns, lines = os.get_terminal_size(descriptor)
            break
    return _positive("COLUMNS") or columns or 80, _positive("LINES") or lines or 25


def _positive(variable: str) -> int:
    value = os.environ.get(variable, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 5 else 0


def _coloured(color: str) -> bool:
    return color == ALWAYS or (color == AUTO and not os.environ.get("NO_COLOR") and not _dumb())


def _dumb() -> bool:
    return os.environ.get("TERM", "").lower() in _DUMB
