"""Many programs of the grammar: each is run twice in quiet and once under its faults; what fails is shrunk and kept.

Called by: generated.py (`make soak SOAK="--programs 500"`), tests. Promises: equal seeds make equal campaigns; a
failure stops nothing; the JSON file is whole after every program.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from toolkit.campaign import documents
from toolkit.job import ROOT
from toolkit.workplace import EVIDENCE

from .model import Program
from .pool import ENDED, Pool
from .shrink import shrink
from .verdict import DIFFERENT, IDENTICAL, LOUD, UNSTABLE, Verdict, of_quiet, of_struck

#: For shrinking: programs tried, and how often each may come out well.
TRIES, AGAIN = 60, 3
NAME = "generated"


@dataclass
class Row:
    """One program of a campaign."""

    seed: int
    summary: str
    verdict: Verdict
    small: str = ""
    tries: int = 0
    again: str = ""

    def line(self) -> str:
        seconds = "+".join(f"{one:.1f}" for one in self.verdict.seconds)
        outcomes = (
            ", ".join(f"{count} {what}" for what, count in Counter(self.verdict.outcomes).items()) or "no recovery"
        )
        said = f"{self.verdict.kind:<10} {self.seed:<7} {seconds} s, {outcomes}: {self.summary}"
        if self.verdict.why:
            said += f"\n           {self.verdict.why[:400]}"
        if self.verdict.defect:
            said += f"\n           shrunk in {self.tries} tries: {self.small}\n           again: {self.again}"
        return said


def judge(pool: Pool, program: Program, twice: bool = True) -> Verdict:
    """Runs it. twice: also without a fault; else only where the struck run differs, to know whose it is."""
    quiet = pool.quiet(program)
    runs = [quiet]
    if twice and quiet.how == ENDED:
        runs.append(pool.quiet(program))
    verdict = of_quiet(*runs)
    if not verdict:
        runs.append(pool.run(program))
        verdict = of_struck(quiet, runs[-1])
    if verdict.kind == DIFFERENT and not twice:
        runs.append(pool.quiet(program))
        verdict = of_quiet(quiet, runs[-1]) or verdict
    verdict.seconds = [one.seconds for one in runs]
    return verdict


@dataclass
class Campaign:
    path: Path
    commit: str
    twice: bool = True
    say: Callable[[str], None] = print
    rows: list[Row] = field(default_factory=list)
    begun: float = field(default_factory=time.time)

    def add(self, pool: Pool, seed: int, program: Program, tries: int = TRIES) -> Row:
        row = Row(seed, program.summary(), judge(pool, program, self.twice))
        if row.verdict.defect:
            self.say(f"{row.verdict.kind}, to be shrunk: {seed}: {row.verdict.why[:400]}")
            self._keep(pool, row, program, tries)
        self.rows.append(row)
        self.say(row.line())
        self.write()
        return row

    def _keep(self, pool: Pool, row: Row, program: Program, tries: int) -> None:
        """Shrinks what failed, and leaves it in the evidence with what replays it."""
        kept = EVIDENCE / f"{NAME}-{row.seed}"
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        (kept / "program.json").write_text(program.text())
        wanted = row.verdict.kind

        def fails(one: Program) -> bool:
            return any(judge(pool, one, twice=wanted == UNSTABLE).kind == wanted for _ in range(AGAIN))

        small, row.tries = shrink(program, fails, tries)
        (kept / "small.json").write_text(small.text())
        shown = kept.relative_to(ROOT)
        row.small, row.again = small.summary(), f'make soak SOAK="--program {shown}/small.json"'
        faults = "\n".join(one.text() for one in small.faults)
        (kept / "replay.txt").write_text(f"{row.verdict.kind}: {row.verdict.why}\n{faults}\n{row.again}\n")

    # ---- what it says ---------------------------------------------------------------------------
    def defects(self) -> list[Row]:
        return [one for one in self.rows if one.verdict.defect]

    def counts(self) -> dict[str, int]:
        return dict(Counter(one.verdict.kind for one in self.rows))

    def outcomes(self) -> dict[str, int]:
        """Of all recoveries."""
        return dict(Counter(each for one in self.rows for each in one.verdict.outcomes))

    def write(self) -> None:
        document = {
            "time": self.begun, "commit": self.commit, "seconds": time.time() - self.begun, "programs": len(self.rows),
            "verdicts": self.counts(), "recoveries": self.outcomes(), "rows": [asdict(one) for one in self.rows],
        }  # fmt: skip
        documents.write(self.path, document)

    def table(self) -> str:
        """What came of the programs, and of the recoveries; then all that did not come out identical."""
        lines = [f"{'programs':<24}{'number':>8}"]
        lines += [f"{kind:<24}{count:>8}" for kind, count in sorted(self.counts().items())]
        lines += [f"{'recoveries':<24}{'number':>8}"]
        lines += [f"{outcome[:100]:<24}{count:>8}" for outcome, count in sorted(self.outcomes().items())]
        struck = sum(bool(one.verdict.outcomes) for one in self.rows)
        odd = [one.line() for one in self.rows if one.verdict.kind != IDENTICAL]
        loud = sum(one.verdict.kind == LOUD for one in self.rows)
        counts = f"{struck} struck, {loud} loud, {len(self.defects())} defects"
        return "\n".join([*lines, *odd, f"{len(self.rows)} programs of {self.commit}, {counts}; {self.path}"])
