"""The same training job under others that make training survive faults, and under jitc, one after the other.

A GPT with two ranks on this machine's cores: cpu/gloo under the others, the software device under jitc. In each round
every case runs once with a fault, and the plain program once with each PyTorch; before the first round every case runs
once without a fault. The others lose a rank's process (SIGKILL), which is what the loss of its GPU is to them; jitc
loses a worker, and in a row of its own the process. The rows are entered into README.md with commit and date.

- step: median of the steps before the fault; also as a multiple of the plain program's, same PyTorch, same round.
- first new step: from the kill to the first step, of any rank, that the job had not done before it; behind it when the
  program had begun again, where it does.
- again, dropped: batches that were computed more than once, and that are not part of what was trained.
- weights: whether they and the optimizer's state are those of the run without a fault, to the last bit.
- lines: of the plain program that were changed, added or removed.

Run from bench/, on a quiet machine: python -m peers
"""

from __future__ import annotations

import argparse
import difflib
import math
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import ROOT, finish, parser, workplace

from .cases import CASES, PLAINS, RANKS, Case, plain_of
from .log import Fault, Seen, judged, last_error, step_time
from .run import PROGRAMS, Ran, run
from .table import Row, entered, plain_line

if TYPE_CHECKING:
    from toolkit.workplace import Workplace

PAGE = ROOT / "bench" / "README.md"


class DoesNotRun(Exception):
    """Not even without a fault; its last words."""


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--runs", type=int, default=5, help="of each case, with a fault (%(default)s)")
    arguments.add_argument("--steps", type=int, default=145)
    arguments.add_argument("--kill-at", type=int, default=45, help="the step after which a rank is lost (%(default)s)")
    arguments.add_argument("--every", type=int, default=10, help="steps from one checkpoint to the next, of the others")
    arguments.add_argument("--only", action="append", help="the cases whose name has this; then nothing is entered")
    arguments.add_argument("--print", action="store_true", help="only print the rows, enter nothing")
    args = arguments.parse_args()
    from toolkit.tree import commit

    of = commit()  # what is measured: later there may be another one
    chosen = [one for one in CASES if not args.only or any(part in one.name for part in args.only)]
    begun = time.monotonic()
    with workplace("peers") as place:
        rows, plain, failed = measured(place, chosen, args)
    lines = [plain_line(pytorch_of(name), steps) for name, steps in plain.items()]
    lines += [one.line() for one in rows]
    lines += [f"| {name} | | does not run here: {why} | | | | | | |" for name, why in failed.items()]
    print("\n".join(lines), f"{time.monotonic() - begun:.0f} s in all", sep="\n")
    if not args.only and not args.print:
        date = time.strftime("%Y-%m-%d", time.gmtime())
        PAGE.write_text(entered(PAGE.read_text(), lines, of, date, args.runs))
    figures: dict[str, Any] = {one.name: {**asdict(one), "fails": one.fails()} for one in rows}
    figures |= {name: {"does_not_run": why} for name, why in failed.items()}
    figures |= {f"plain program, {name}": {"step_s": steps} for name, steps in plain.items()}
    return finish(args, figures, goals(rows))


def goals(rows: list[Row]) -> dict[str, bool]:
    ours = [one for one in rows if one.name.strip("*").startswith("jitc") and one.survives]
    met = all(not one.fails() and not one.lines for one in ours)
    kept = all(run.outcome == "identical" and not run.dropped for one in ours for run in one.runs)
    return {"jitc: processes live, identical, nothing dropped, no line changed": met and kept} if ours else {}


def measured(
    place: Workplace, chosen: list[Case], args: argparse.Namespace
) -> tuple[list[Row], dict[str, list[float]], dict[str, str]]:
    """Rows; steps of the plain program in each round, by environment; and why which case does not run."""
    healthy: dict[str, Seen] = {}
    failed: dict[str, str] = {}
    for case in chosen:
        try:
            healthy[case.name] = without_fault(place, case, args)
        except DoesNotRun as error:
            failed[case.name] = str(error)
            print(f"{case.name}: does not run here: {error}", flush=True)
    chosen = [one for one in chosen if one.name in healthy]
    plain: dict[str, list[float]] = {name: [] for name in PLAINS if name in map(plain_of, chosen)}
    faults: dict[str, list[Fault]] = {one.name: [] for one in chosen}
    for number in range(args.runs):
        for name, steps in plain.items():
            ran = run(place, PLAINS[name], f"plain-{name}-{number}", steps=args.kill_at, every=args.every, kill_at=None)
            steps.append(step_time(ran.seen) or math.nan)
            print(f"{number}: plain program, {name}: {steps[-1] * 1000:.1f} ms", flush=True)
        for at, case in enumerate(chosen):
            fault = with_fault(place, case, f"{at}-{number}", healthy[case.name], args)
            faults[case.name].append(fault)
            print(f"{number}: {case.name}: {fault}", flush=True)
    rows = [row_of(case, tuple(faults[case.name]), tuple(plain[plain_of(case)])) for case in chosen]
    return rows, plain, failed


def without_fault(place: Workplace, case: Case, args: argparse.Namespace) -> Seen:
    name = f"healthy-{CASES.index(case)}"
    ran = run(place, case, name, steps=args.steps, every=args.every, kill_at=None)
    if not ran.seen.done:
        raise DoesNotRun(last_error(ran.output))
    return ran.seen


def with_fault(place: Workplace, case: Case, name: str, healthy: Seen, args: argparse.Namespace) -> Fault:
    ran: Ran = run(place, case, name, steps=args.steps, every=args.every, kill_at=args.kill_at)
    wanted = {(rank, step) for rank in range(RANKS) for step in range(args.steps)}
    return judged(ran.seen, healthy, ran.killed or (math.inf, 0), wanted, ran.output)


def row_of(case: Case, runs: tuple[Fault, ...], plain: tuple[float, ...]) -> Row:
    from third_party.environments import PINS

    version = next((f" {one.partition('==')[2]}" for one in PINS[case.environment]), "")
    name, comma, rest = case.name.partition(",")
    title = f"{name}{version}{comma}{rest}"
    if case.service is not None and case.worker:
        title = f"**{title}**"
    lines = changed_lines(case.program)
    return Row(title, pytorch_of(case.environment), lines, case.survives, plain, runs)


def pytorch_of(environment: str) -> str:
    from third_party.environments import python_of

    ask = "from importlib.metadata import version; print(version('torch').partition('+')[0])"
    done = subprocess.run([python_of(environment), "-c", ask], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def changed_lines(program: str) -> int:
    """Without comments, blank lines and the text at the beginning."""

    def code(name: str) -> list[str]:
        lines = Path(PROGRAMS, f"{name}.py").read_text().splitlines()[1:]
        return [one for one in lines if one.strip() and not one.strip().startswith("#")]

    return sum(one[0] in "+-" for one in difflib.ndiff(code("plain"), code(program)))


if __name__ == "__main__":
    sys.exit(main())
