"""`make nodes-demo`: a job over two nodes loses a worker on each, and the link between them, and computes the same.

Two nodes and a third one with etcd, made of namespaces on this machine. examples/train_gpt.py, unchanged, trains with a
rank on each; after some steps the worker of one is killed, then that of the other, then their link is cut until both
have noticed, and healed. At last the same job runs on one node without faults, and losses, weights, optimizer state and
data are compared. It needs root; where it cannot run it says why. Run from bench/: python -m nodes.demo

Called by: the Makefile. Promise: exit status 0 only if each fault was recovered and all is identical to the last bit.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from common import parser

from . import meter, town
from .faults import STEPS, STEPS_CUT, Trials, when_noticed

#: In the order in which they come.
PHASES = ("detect", "fence", "rebuild", "decide", "restore", "resume", "replay")
#: Steps after the last fault, at least.
LAST = 8
#: Ops of the optimizer step that go by before the worker is killed: well inside it.
OPTIMIZER_SKIP = 6
NAME = "nodes-demo"


def main() -> int:
    arguments = parser(__doc__)
    args = arguments.parse_args()
    if reason := town.why_not():
        print(f"{NAME} cannot run here: {reason}", file=sys.stderr)
        return 1
    try:
        rows, differ = town.visit("nodes_demo", 1, say := town.clock(), lambda made: shown(made, say))
    except KeyboardInterrupt:
        print(f"{NAME}: interrupted; all that it had started has ended", file=sys.stderr)
        return 130
    except (AssertionError, OSError) as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        return 1
    print("\n" + "\n".join(table(rows)) + "\n\n" + verdict(rows, differ))
    if args.json:
        document = {"identical": not differ, "differs": differ, "faults": rows}
        Path(args.json).write_text(json.dumps(document, indent=1) + "\n")
    return 0 if is_good(rows, differ) else 1


def shown(made: town.Town, say: Callable[[str], None]) -> tuple[list[dict[str, Any]], str]:
    """Runs the jobs. Returns a row for each fault, and in what the results differ."""
    moment = made.moment()
    say("examples/train_gpt.py begins, with a rank on n0 and one on n1")
    trials = Trials(made, town.training("--steps", 1 + 2 * STEPS + STEPS_CUT + LAST), "demo")
    say(f"it trains; {made.leader().name} leads its recoveries")
    rows = []
    for title, lose in (
        ("worker on n0 killed, backward pass", lambda: trials.lose_worker(made.near)),
        ("worker on n1 killed, optimizer step", lambda: trials.lose_worker(made.far, "optimizer", OPTIMIZER_SKIP)),
        ("link cut, healed when noticed", lambda: of_cut(trials.lose_link(when_noticed(made)))),
    ):
        rows.append({"fault": title, **trials.measured(lose)})
        say(f"{title}: {rows[-1]['outcome']}, and the job goes on")
    trials.finish()
    say("it has ended; the same begins on one node, without a cluster and without a fault")
    differ = trials.compared()
    say(f"it has ended, too; {meter.told(meter.spent(moment, made.moment()))}")
    return rows, differ


def of_cut(found: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the row of a cut: its recovery, and how long after the link was whole the job made a step."""
    first = dict(found["recoveries"][0]) if found["recoveries"] else {"outcome": "not recovered", "phases": {}}
    first["attempts"] = len(found["recoveries"])
    return first | {"cut_seconds": found["cut_seconds"], "goes_on": found["seconds"]}


def table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns lines with the seconds of each phase."""
    head = ["fault", *PHASES, "all", "outcome"]
    cells = [
        [
            one["fault"],
            *(f"{one['phases'][phase]:.2f}" if phase in one["phases"] else "-" for phase in PHASES),
            f"{one['seconds']:.2f}" if "seconds" in one else "-",
            one["outcome"],
        ]
        for one in rows
    ]
    widths = [max(len(line[at]) for line in (head, *cells)) for at in range(len(head))]
    lines = ["seconds of each recovery"]
    for line in (head, *cells):
        texts = [word.ljust(width) if at in (0, len(head) - 1) else word.rjust(width)
                 for at, (word, width) in enumerate(zip(line, widths, strict=True))]  # fmt: skip
        lines.append("  ".join(texts).rstrip())
    lines += [
        f"the link was cut for {one['cut_seconds']:.1f} s; {one['goes_on']:.2f} s after its healing the job made a step"
        for one in rows
        if "goes_on" in one
    ]
    return lines


def verdict(rows: Sequence[Mapping[str, Any]], differ: str) -> str:
    lost = [one["fault"] for one in rows if one["outcome"] != "recovered"]
    told = f"{len(rows)} faults on two nodes, against one node without a fault: "
    if differ:
        return f"{told}NOT identical: {differ}"
    return f"{told}identical to the last bit" + (f"; NOT recovered: {', '.join(lost)}" if lost else "")


def is_good(rows: Sequence[Mapping[str, Any]], differ: str) -> bool:
    return not differ and all(one["outcome"] == "recovered" for one in rows)


if __name__ == "__main__":
    sys.exit(main())
