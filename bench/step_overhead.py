"""Step time through the proxy against cpu/gloo, for a 4-layer, width-256 GPT of two ranks, or another one.

Rounds alternate between the two, so that a slower moment of the machine hits both; the first steps of each job
(start-up, learning of output shapes) are left out.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

from common import finish, parser, summary, workplace

GOAL = 1.5


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--steps", type=int, default=10, help="measured steps of each job")
    arguments.add_argument("--ranks", type=int, default=2)
    arguments.add_argument("--skip", type=int, default=3, help="first steps of each job that do not count")
    arguments.add_argument("--layers", type=int, default=4)
    arguments.add_argument("--width", type=int, default=256)
    args = arguments.parse_args()
    from toolkit.job import Script

    count = str(args.steps + args.skip)
    size = ("--layers", str(args.layers), "--width", str(args.width), "--steps", count)
    script = Script("train_gpt.py", size, args.ranks)
    seconds: dict[str, list[float]] = {"cpu": [], "proxy": []}
    with workplace("step_overhead") as place:
        service = place.service(args.ranks)
        for turn in range(args.rounds):
            for kind in seconds:
                job = place.job(script, service if kind == "proxy" else None)
                job.finish(600).successful()
                steps = recorded(job.folder)[args.skip :]
                seconds[kind] += steps
                print(f"round {turn + 1} {kind:<6} median {statistics.median(steps) * 1000:8.1f} ms", flush=True)
    ratio = statistics.median(seconds["proxy"]) / statistics.median(seconds["cpu"])
    print(f"proxy / cpu = {ratio:.3f}")
    figures = {kind: summary(values) for kind, values in seconds.items()} | {"ratio": ratio}
    return finish(args, figures, {f"step time at most {GOAL} times that of cpu/gloo": ratio <= GOAL})


def recorded(folder: Path) -> list[float]:
    """Seconds of every step, as rank 0 saw them."""
    values: list[float] = json.loads((folder / "record.rank0.json").read_text())["seconds"]
    return values


if __name__ == "__main__":
    sys.exit(main())
