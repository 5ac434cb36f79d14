"""docs/third-party.md from the results of matrix.py.

Called by: matrix.py --table. Promises: the document is made by this alone; each row has the commit and the date of its
run, since cases may be run one at a time.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from .cases import CASES, Case

HEAD = """# Programs that nobody here wrote

Libraries from PyPI in pinned versions, each in an environment of its own, driven by short scripts
(`tests/third_party/programs/`) as their documentation says, on the software device with PyTorch {torch}.

- *Shuffle*: the device delays streams, completions and answers at random ([shuffle.md](shuffle.md)).
- *Kills*: the worker of each GPU is killed with SIGKILL, one after another, at counts of its ops, which are those of
  the run without faults and spread over its steps (`counts.py`). "Equal (2, 2)": twice on GPU 0 and on GPU 1, and as many
  recoveries were counted. In rows with "equal" alone three workers were killed after steps 3, 6, 9, of GPU 0, 1, 0.
- *Equal*: the losses of all steps and the bytes of all weights, on every rank, are those of the run without faults.
- *CPU*: losses of all steps against those of a run without any device, where the program has such a run.

{equal} of {count} programs are equal in every way. `make third-party` ran them (`THIRD_PARTY="--only NAME"`: one), and
`make third-party THIRD_PARTY=--table` made this page.

| program | versions | ranks | no fault | shuffle | kills | CPU | run at |
|---|---|---|---|---|---|---|---|
"""

TAIL = """
## What stands in for what

Programs that are not on PyPI cannot be pinned, so they are not here. nanoGPT is a repository, not a package: nano-gpt,
a package after it with a trainer of its own, stands in for it, and so does LitGPT, with Fabric. PyTorch's examples
are a repository too: the timm ResNet-18 row is near their ImageNet script, the first row near their FSDP2 script with
checkpoints, the x-transformers row near their transformer, `examples/` near their DDP scripts.
"""


def write(results: list[dict[str, Any]], path: Path) -> None:
    """Overwrites the document."""
    found = {one["case"]: one for one in results}
    done = [(case, found[case.name]) for case in CASES if case.name in found]
    missing = [case.name for case in CASES if case.name not in found]
    rows = "".join(_row(case, one) for case, one in done)
    equal = sum(_all_equal(case, one["ways"]) for case, one in done)
    notes = "".join(f"\n- **{case.name}**: {case.note}" for case, _ in done if case.note)
    notes = f"\n## What is to be known of some rows\n{notes}\n" if notes else ""
    not_run = "".join(f"\nNot run: {name}.\n" for name in missing)
    head = HEAD.format(torch=version("torch"), equal=equal, count=len(CASES))
    path.write_text(head + rows + not_run + notes + TAIL)


def _all_equal(case: Case, ways: dict[str, str]) -> bool:
    wanted = ["plain", "shuffle", "kills", *(["cpu"] if case.cpu is not None else [])]
    return all(ways.get(way) == "equal" for way in wanted)


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
    cells = [one["case"], pins, str(one["ranks"]), *cells, one["origin"]]
    return f"| {' | '.join(cells)} |\n"


def _cell(said: str) -> str:
    return {"": "not run", "equal": "equal"}.get(said, f"**no**: {said.split('; see ', maxsplit=1)[0]}")
