"""The picture of `jitc status --watch`: a line about a missing service, and the tables as far as they fit.

Called by: watch.py. Promises: it has no more lines than the terminal; lines for which there is no room are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment

from .grid import line
from .tables import status


@dataclass(frozen=True)
class Picture:
    """absence: the line about a service that does not answer, empty if it does."""

    document: Mapping[str, Any]
    absence: str = ""

    def whole(self) -> RenderableType:
        """Returns all of it, for a terminal that scrolls."""
        above = [line(self.absence, "bold red")] if self.absence else []
        return Group(*above, status(self.document))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self.whole(), options.update(height=None), pad=False)
        most = console.size.height
        if len(lines) > most:
            said = line(f"... and {len(lines) - most + 1} more lines", "dim")
            lines = [*lines[: most - 1], *console.render_lines(said, options.update(height=None), pad=False)[:1]]
        for one in lines:
            yield from one
            yield Segment.line()
