"""The JSON files that campaigns leave, and the tables of the pages that are made of them.

Called by: soak, third_party, operators, pytorch, mutants, bench. Promises: a file is written whole or not at all, so
that what was there stays readable whatever happens to the next run; a cell cannot break its row.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write(path: Path, document: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(document, indent=1) + "\n")
    os.replace(part, path)


def read(path: Path, without: Any) -> Any:
    """without: what there is where nothing was written yet."""
    return json.loads(path.read_text()) if path.exists() else without


def today() -> str:
    """The day that results are of, the same on every machine."""
    return time.strftime("%Y-%m-%d", time.gmtime())


def row(cells: Iterable[object]) -> str:
    """Of a table in Markdown."""
    return f"| {' | '.join(str(one).replace('|', '/') for one in cells)} |\n"


def table(head: str, rows: Iterable[Iterable[object]]) -> str:
    """head: the names of its columns, as its first row has them between the outer bars."""
    return f"| {head} |\n|{'---|' * (head.count('|') + 1)}\n{''.join(map(row, rows))}"
