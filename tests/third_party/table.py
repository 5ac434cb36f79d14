"""docs/third-party.md from the results of matrix.py.

Called by: matrix.py --table. The document is made by this alone, with the commit and the date of the run.
"""

from __future__ import annotations

import subprocess
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .cases import CASES

HEAD = """# Programs that nobody here wrote

Libraries from PyPI in pinned versions, each in an environment of its own, driven by short scripts
(`tests/third_party/programs/`) as their documentation says, on the software device with PyTorch {torch}. *Shuffle*: the
device delays streams, completions and answers at random. *Kills*: three workers are killed with SIGKILL, one after
another. *Equal*: losses of every step and the bytes of all weights are those of the run without faults. *CPU*: losses
near those of a run without any device.

Made by `make third-party` and `make third-party THIRD_PARTY=--table` at {commit}, {day}.

| program | versions | ranks | no fault | shuffle | kills | CPU |
|---|---|---|---|---|---|---|
"""


def write(results: list[dict[str, Any]], path: Path) -> None:
    """Overwrites the document."""
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True)
    torch = version("torch")
    cases = {one.name: one for one in CASES}
    rows = []
    for one in results:
        ways = one["ways"]
        case = cases[one["case"]]
        cells = [_cell(ways.get("plain", "")), *(_cell(ways.get(way, "")) for way in ("shuffle", "kills"))]
        cells.append(_cell(ways.get("cpu", "")) if case.cpu is not None else f"no: {case.why_not_cpu}")
        pins = ", ".join(one["pins"]) or "PyTorch alone"
        rows.append(f"| {one['case']} | {pins} | {one['ranks']} | " + " | ".join(cells) + " |")
    head = HEAD.format(torch=torch, commit=commit.stdout.strip(), day=date.today())
    path.write_text(head + "\n".join(rows) + "\n")


def _cell(said: str) -> str:
    return {"": "not run", "equal": "equal"}.get(said, f"**no**: {said.split('; see ', maxsplit=1)[0]}")
