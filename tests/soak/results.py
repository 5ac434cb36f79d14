"""What the soak has found so far: a line per run for people, a JSON file for programs.

Called by: command.py. Promise: the file is whole after every run, whatever happens to the next one.
"""

from __future__ import annotations

import functools
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from toolkit import tree
from toolkit.campaign import documents

PASSED, FAILED = "passed", "failed"
#: Characters of a failure's text that the line shows.
SHOWN = 300


@dataclass
class Run:
    program: str
    way: str  # its name
    seed: int | None  # None: the plain run, which others are compared with
    outcome: str = PASSED
    seconds: float = 0.0
    reference_seconds: float = 0.0  # of the plain run; 0: there is none
    why: str = ""
    evidence: str = ""
    replay: str = ""

    def line(self) -> str:
        what = f"{self.program} {self.way}" + (f" {self.seed}" if self.seed is not None else "")
        slower = f", {self.seconds / self.reference_seconds:.1f} times as long" if self.reference_seconds else ""
        said = f"{self.outcome:<7}{what:<56}{self.seconds:6.1f} s{slower}"
        if self.outcome == PASSED:
            return said
        return f"{said}\n       {self.why[:SHOWN]}\n       evidence: {self.evidence}\n       again: {self.replay}"


@dataclass
class Results:
    path: Path
    minutes: float
    begun: float = field(default_factory=time.time)
    runs: list[Run] = field(default_factory=list)

    def add(self, run: Run) -> None:
        self.runs.append(run)
        passed = time.time() - self.begun
        print(f"[{int(passed) // 60:3}:{int(passed) % 60:02}] {run.line()}", flush=True)
        self.write()

    def failed(self) -> list[Run]:
        return [one for one in self.runs if one.outcome != PASSED]

    def write(self) -> None:
        document = {
            "time": self.begun, "commit": commit(), "minutes": self.minutes, "seconds": time.time() - self.begun,
            "passed": len(self.runs) - len(self.failed()), "failed": len(self.failed()),
            "slower": self.slower(), "runs": [asdict(one) for one in self.runs],
        }  # fmt: skip
        documents.write(self.path, document)

    def slower(self) -> dict[str, float]:
        """Times as long as plainly, on average, by program; of runs that were compared with a plain one."""
        factors: dict[str, list[float]] = {}
        for one in self.runs:
            if one.reference_seconds and one.outcome == PASSED:
                factors.setdefault(one.program, []).append(one.seconds / one.reference_seconds)
        return {name: round(sum(all_) / len(all_), 2) for name, all_ in factors.items()}

    def table(self) -> str:
        """A row per program and way, then what failed."""
        rows: dict[tuple[str, str], list[Run]] = {}
        for one in self.runs:
            rows.setdefault((one.program, one.way), []).append(one)
        lines = [f"{'program':<44}{'way':<14}{'runs':>5}{'failed':>8}{'seconds':>9}"]
        for (program, way), runs in rows.items():
            failed = sum(one.outcome != PASSED for one in runs)
            mean = sum(one.seconds for one in runs) / len(runs)
            lines.append(f"{program:<44}{way:<14}{len(runs):>5}{failed:>8}{mean:>9.1f}")
        lines += [one.line() for one in self.failed()]
        return "\n".join([*lines, f"{len(self.runs)} runs, {len(self.failed())} failed; {self.path}"])


#: As it was at the first result: a night's work is of one state.
commit = functools.cache(tree.commit)
