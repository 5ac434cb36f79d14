"""What a job over two nodes costs, and what faults of workers, links, services and the store cost it.

All on this machine: nodes are namespaces with a network of their own, etcd has three members on three further nodes, a
service is on each of two. Figures are of one run; beside each stand the processor time and the load of the machine.

- steps: of examples/train_gpt.py with two ranks, on one node without and with --cluster, and on two; what the store is
  asked, and bytes between the nodes.
- worker: one is lost on another node than the leader's, with copies and with peers of another node, 100 MB of state.
- cuts: the link is cut, and healed after a second, or once both nodes have noticed.
- service: the leader's is killed in a recovery, and started again.
- store: a member of etcd is killed with a worker, the leading one also in the recovery.

Needs root, and what `scripts/system-packages.sh cluster` installs; without them it says so, and measures nothing. Run
from bench/, on a quiet machine, 8 minutes: python -m nodes
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from common import finish, parser

from . import town
from .parts import PARTS

MEMBERS = 3


def main() -> int:
    args = arguments().parse_args()
    if reason := town.why_not():
        print(f"nodes: skipped: {reason}")
        if args.json:
            Path(args.json).write_text(json.dumps({"skipped": reason, "figures": {}, "goals_met": {}}) + "\n")
        return 0
    figures: dict[str, Any] = {}
    met: dict[str, bool] = {}
    try:
        measure(args, figures, met)
    except KeyboardInterrupt:
        finish(args, figures, met)
        print("nodes: interrupted; all that it had started has ended", file=sys.stderr)
        return 130
    return finish(args, figures, met)


def arguments() -> argparse.ArgumentParser:
    made = parser(__doc__)
    made.formatter_class = argparse.RawDescriptionHelpFormatter
    made.description = __doc__
    made.add_argument("--rounds", type=rounds, default=3, help="of each fault; step times: one less (%(default)s)")
    made.add_argument(
        "--only", action="append", choices=list(PARTS), help="this part; may be given several times (all)"
    )
    return made


def rounds(word: str) -> int:
    if not (word.isascii() and word.isdigit() and 1 <= int(word) <= 10):
        raise argparse.ArgumentTypeError("a number from 1 to 10")
    return int(word)


def measure(args: argparse.Namespace, figures: dict[str, Any], met: dict[str, bool]) -> None:
    """Enters figures of each part that was asked for when it is over, and the goals that these met."""
    from toolkit.tree import commit

    begun, say = time.monotonic(), town.clock()

    def all_parts(made: town.Town) -> None:
        for name, part in PARTS.items():
            if args.only and name not in args.only:
                continue
            say(f"== {name}")
            figures[name], goals = part(made, args.rounds, say)
            met.update(goals)

    figures |= {"commit": commit(), "date": time.strftime("%Y-%m-%d", time.gmtime())}
    town.visit("nodes", MEMBERS, say, all_parts)
    figures["seconds"] = time.monotonic() - begun


if __name__ == "__main__":
    sys.exit(main())
