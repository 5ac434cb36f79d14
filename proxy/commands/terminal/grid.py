"""Tables with heads that fit any width: columns for which there is no room become lines below the row.

Called by: tables.py, recoveries.py. Promises: no line is wider than the terminal; nothing is cut off; texts are shown
as they are, never read as Rich markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...common.printable import LINE, printable

#: Cells between two columns, and before a line below a row.
_GAP, _INDENT = 2, 3
#: Notes have a column of their own if it can be so wide.
_NOTES_LEAST = 30


def shown(text: object, style: str = "") -> Text:
    """Returns a text, whoever wrote it, as one line that steers no terminal."""
    return Text(printable(str(text), LINE), style)


def line(text: str, style: str = "") -> Padding:
    """Returns a line that keeps its indentation where it is wrapped."""
    bare = text.lstrip(" ")
    return Padding(shown(bare, style), (0, 0, 0, min(len(text) - len(bare), 8)), expand=False)


@dataclass(frozen=True)
class Column:
    """leaves: columns with a larger number are the first to leave a narrow table, those with 0 never do; least: the
    width from which on longer texts are wrapped."""

    head: str
    right: bool = False
    leaves: int = 0
    least: int = 16


@dataclass(frozen=True)
class Row:
    cells: Sequence[Text]
    notes: Sequence[Text] = ()


@dataclass(frozen=True)
class Grid:
    """A table. notes: the head of a column for the rows' notes, which are below the rows if there is no room for it;
    empty: they are always below."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    notes: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        kept, widths = self._fitted(options.max_width)
        room = options.max_width - _together(widths) - _GAP
        wanted = max((cell_len(one.plain) for row in self.rows for one in row.notes), default=0)
        beside = self.notes != "" and wanted > 0 and room >= max(len(self.notes), min(wanted, _NOTES_LEAST))
        chunk = _Chunk([self.columns[at] for at in kept], widths, (self.notes, min(room, wanted)) if beside else None)
        for row in self.rows:
            notes = list(row.notes)
            chunk.add([row.cells[at] for at in kept], notes if beside else [])
            below = [*self._left_out(row, kept), *([] if beside else notes)]
            if below:
                yield chunk.taken()
                yield from (Padding(one, (0, 0, 0, _INDENT), expand=False) for one in below)
        if chunk.table.row_count:
            yield chunk.taken()

    def _fitted(self, width: int) -> tuple[list[int], list[int]]:
        """Returns which columns there is room for, and their widths."""
        kept = list(range(len(self.columns)))
        while True:
            natural = [self._natural(at) for at in kept]
            least = [min(natural[n], self.columns[at].least) for n, at in enumerate(kept)]
            leaving = max(kept, key=lambda at: self.columns[at].leaves)
            if _together(least) <= width or not self.columns[leaving].leaves:
                return kept, _widened(_narrowed(least, width), natural, width)
            kept.remove(leaving)

    def _natural(self, at: int) -> int:
        return max(cell_len(self.columns[at].head), *(cell_len(row.cells[at].plain) for row in self.rows), 1)

    def _left_out(self, row: Row, kept: Sequence[int]) -> Iterator[Text]:
        """Returns a line with the cells of the columns for which there is no room."""
        out = [at for at in range(len(self.columns)) if at not in kept and row.cells[at].plain]
        named = [Text.assemble(self.columns[at].head, " ", row.cells[at]) for at in out]
        if named:
            yield Text(", ").join(named)


class _Chunk:
    """The rows since the newest line below a row."""

    def __init__(self, columns: Sequence[Column], widths: Sequence[int], notes: tuple[str, int] | None) -> None:
        self._columns = [*columns, *([Column(notes[0])] if notes else [])]
        self._widths = [*widths, *([notes[1]] if notes else [])]
        self._notes = notes is not None
        self.table = self._new(heads=True)

    def add(self, cells: Sequence[Text], notes: Sequence[Text]) -> None:
        self.table.add_row(*cells, *([Text("\n").join(notes)] if self._notes else []))

    def taken(self) -> Table:
        """Returns the table, and begins another one without heads."""
        table, self.table = self.table, self._new(heads=False)
        return table

    def _new(self, heads: bool) -> Table:
        table = Table(
            box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0), show_header=heads,
            header_style="bold", border_style="dim",
        )  # fmt: skip
        for column, width in zip(self._columns, self._widths, strict=True):
            justify = "right" if column.right else "left"
            table.add_column(Text(column.head), width=width, justify=justify, overflow="fold")  # type: ignore[arg-type]
        return table


def _together(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _narrowed(widths: list[int], width: int) -> list[int]:
    """Returns widths that fit a terminal which is too narrow even for the columns that never leave."""
    while _together(widths) > width and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    return widths


def _widened(widths: list[int], natural: Sequence[int], width: int) -> list[int]:
    """Hands the room that is left to the columns whose texts are longer, the first ones first."""
    for at, wanted in enumerate(natural):
        widths[at] += max(0, min(wanted - widths[at], width - _together(widths)))
    return widths
