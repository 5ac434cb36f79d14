"""docs/third-party.md from the results of matrix.py.

Called by: matrix.py --table. Promises: the document is made by this alone; each row has the commit and the date of its
run, since cases may be run one at a time, and stays until it is run again.
"""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

from toolkit.campaign import documents

from .cases import CASES, Case
from .reports import REPORTS

HEAD = """# Third-party programs

Libraries from PyPI in pinned versions, each in a separate environment, driven by short scripts
(`tests/third_party/programs/`) as documented, on the software device with PyTorch {torch}.

- *Shuffle*: the device delays streams, completions and answers at random ([shuffle.md](shuffle.md)).
- *Kills*: the worker of each GPU is killed with SIGKILL, one after another, at counts of its ops, which are taken from
  the run without faults and spread over its steps (`counts.py`). "Equal (2, 2)": twice on GPU 0 and on GPU 1, and each
  killed worker was replaced.
- *Equal*: the losses of all steps and the bytes of all weights, on every rank, equal those of the run without faults.
- *CPU*: losses of all steps compared with those of a run without any device, if the program has such a run.

{equal} of {count} programs are equal in every way. `make third-party` ran them (`THIRD_PARTY="--only NAME"`: one), and
`make third-party THIRD_PARTY=--table` made this page.

| program | versions | ranks | no fault | shuffle | kills | CPU | run at |
|---|---|---|---|---|---|---|---|
"""

#: In a row that is not equal in every way.
_WRONG = re.compile(r"\*\*no\*\*|\| not run \|")

NOTES = """
## Notes on some rows

"""

TRIED = """
## Shapes that were tested

Small programs after public bug reports on distributed training, two ranks on the software device
(`tests/end_to_end/reports/`, `test_reports.py`). Each makes ten iterations twice in one pair of processes: without a
fault, and with four workers killed, two of each rank, at counts of their ops. The final state of the ranks must be
bit-identical, with four recoveries and no difference between replicas.
`make third-party THIRD_PARTY=--reports` runs them.

| shape | after a report on | result | run at |
|---|---|---|---|
"""

TAIL = """
## Substitutes

Programs that are not on PyPI cannot be pinned, so they are not here. nanoGPT is a repository, not a package: nano-gpt,
a package after it with its own trainer, replaces it, and so does LitGPT, with Fabric. PyTorch's examples
are a repository too: the timm ResNet-18 row is near their ImageNet script, the first row near their FSDP2 script with
checkpoints, the x-transformers row near their transformer, `examples/` near their DDP scripts.
"""


def write(results: list[dict[str, Any]], path: Path, tried: dict[str, dict[str, str]] | None = None) -> None:
    """Overwrites the document. What was not run here stays as the document has it."""
    before = _rows_of(path)
    rows = {case.name: before[case.name] for case in CASES if case.name in before}
    rows |= {case.name: _row(case, one) for one in results for case in CASES if case.name == one["case"]}
    done = [case for case in CASES if case.name in rows]
    equal = sum(not _WRONG.search(rows[case.name]) for case in done)
    notes = "".join(f"- **{case.name}**: {case.note}\n" for case in done if case.note)
    not_run = "".join(f"\nNot run: {case.name}.\n" for case in CASES if case.name not in rows)
    path.write_text(
        HEAD.format(torch=version("torch"), equal=equal, count=len(CASES))
        + "".join(rows[case.name] for case in done)
        + not_run
        + (NOTES + notes if notes else "")
        + _tried(tried or {}, before)
        + TAIL
    )


def _rows_of(path: Path) -> dict[str, str]:
    """The rows that the document has, by their first cell."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return {line.split(" | ")[0].removeprefix("| "): line for line in lines if line.startswith("| ")}


def _tried(tried: dict[str, dict[str, str]], before: dict[str, str]) -> str:
    """The section of shapes after bug reports."""
    text = TRIED
    for report in REPORTS:
        if report.shape in tried:
            one = tried[report.shape]
            said = one["said"] if one["said"].startswith("equal") else f"**no**: {one['said']}"
            text += documents.row([report.shape, f"[{report.subject}]({report.link})", said, one["origin"]])
        else:
            text += before.get(report.shape, f"| {report.shape} | [{report.subject}]({report.link}) | not run | |\n")
    return text


def _row(case: Case, one: dict[str, Any]) -> str:
    ways = one["ways"]
    cells = [_cell(ways.get(way, "")) for way in ("plain", "shuffle", "kills")]
    if cells[2] == "equal" and one.get("struck"):
        cells[2] = f"equal ({', '.join(map(str, one['struck']))})"
    if case.cpu is None:
        cells.append(f"no: {case.why_not_cpu}")
    else:
        cells.append(_cell(ways.get("cpu", "")).replace("equal", f"within {case.cpu:.1%}"))
    pins = ", ".join(one["pins"]) or "PyTorch alone"
    return documents.row([one["case"], pins, one["ranks"], *cells, one["origin"]])


def _cell(said: str) -> str:
    return {"": "not run", "equal": "equal"}.get(said, f"**no**: {said.split('; see ', maxsplit=1)[0]}")
