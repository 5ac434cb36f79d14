"""Figures of a run, in words and as docs/pytorch-tests.md.

Called by: __main__.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from toolkit.campaign import documents
from toolkit.tree import commit

from . import fetch
from .expected import EXCUSES, OPEN, Expectations, agrees
from .processes import Result

Figures = Counter[str]
HEAD = """# PyTorch's own tests

Written by `make pytorch-tests` (`tests/pytorch/README.md`). PyTorch's test files of release {release}, unchanged, with
the wheel {wheel}, on the software device; written at commit {commit}, {date}, from the results of runs up to it.

*Run*: started and not skipped by the test itself. *Excused*: does not pass, for a reason that jitc cannot remove
(the classes are below; each test with its own reason is in `tests/pytorch/expected/`). *Failed*: does not pass, but
should. *Not run*: the run was stopped before. *Of those that could*: passed, of passed and failed. Files of `suite.py`
that are not listed have not been run.

| file | tests | not run | run | passed | excused | failed | of those that could |
|---|---|---|---|---|---|---|---|
"""


def counts(tests: list[str], done: Mapping[str, Result], expectations: Expectations) -> Figures:
    """tests, skipped, passed, failed, excused, and the excused ones by class."""
    out: Figures = Counter(tests=len(tests))
    for name in tests:
        line = expectations.of(name)
        outcome = done[name].outcome if name in done else line.outcome if line.outcome == "left out" else "not run"
        if outcome in ("passed", "skipped", "not run"):
            out[outcome] += 1
            continue
        excused = line.excused and (outcome == "left out" or agrees(line, outcome))
        out["excused" if excused else "failed"] += 1
        out[f"by {line.kind if excused or line.kind in OPEN else 'unexplained'}"] += 1
        out["left out"] += outcome == "left out"
    return out


def in_words(figures: Figures) -> str:
    names = ("passed", "failed", "excused", "skipped", "not run")
    return ", ".join(f"{figures[one]} {one}" for one in names if figures[one] or one in names[:3])


def share(figures: Figures) -> str:
    could = figures["passed"] + figures["failed"]
    return f"{100 * figures['passed'] / could:.1f} %" if could else ""


def _row(name: str, figures: Figures) -> str:
    ran = figures["tests"] - figures["skipped"] - figures["left out"] - figures["not run"]
    cells = [figures["tests"], figures["not run"], ran, figures["passed"], figures["excused"], figures["failed"]]
    return documents.row([name, *cells, share(figures)])


def write(path: Path, files: Mapping[str, tuple[list[str], Mapping[str, Result], Expectations]]) -> None:
    import torch

    text = HEAD.format(release=fetch.RELEASE, wheel=torch.__version__, commit=commit(), date=documents.today())
    total: Figures = Counter()
    for name, (tests, done, expectations) in files.items():
        figures = counts(tests, done, expectations)
        total += figures
        text += _row(f"`{name}`", figures)
    text += _row("all", total)
    reasons = [(kind, total[f"by {kind}"], meaning) for kind, meaning in {**EXCUSES, **OPEN}.items()]
    path.write_text(f"{text}\n{documents.table('does not pass because | tests | ', reasons)}")
