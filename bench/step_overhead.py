"""Step time through the proxy against cpu/gloo, for a 4-layer, width-256 GPT of two ranks, or another one.

Rounds alternate between the two, so that a slower moment of the machine hits both. Operators have as many threads on
one side as on the other; glibc's allocator is as it comes on both. Of a job's first steps those of its start are left
out (output shapes are learned); the next ones, in which the service finds out what peers can give back (it relies on
them from about the eighth step on), are a figure of their own. What counts is the speed after that.
"""

from __future__ import annotations

import statistics
import sys

from common import finish, parser, summary, workplace

GOAL = 1.15
#: First steps of each job: its start, and until peers have been relied on for a while.
START, LEARNED = 3, 25


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--steps", type=int, default=30, help="measured steps of each job")
    arguments.add_argument("--ranks", type=int, default=2)
    arguments.add_argument("--layers", type=int, default=4)
    arguments.add_argument("--width", type=int, default=256)
    arguments.add_argument("--threads", type=int, default=1, help="of one operator, on both sides (1)")
    args = arguments.parse_args()
    from toolkit.job import Script

    size = ("--layers", str(args.layers), "--width", str(args.width), "--steps", str(LEARNED + args.steps))
    script = Script("train_gpt.py", size, args.ranks)
    first: dict[str, list[float]] = {"cpu": [], "proxy": []}
    later: dict[str, list[float]] = {"cpu": [], "proxy": []}
    with workplace("step_overhead") as place:
        service = place.service(args.ranks, ("--threads", str(args.threads)))
        threads = {"OMP_NUM_THREADS": str(args.threads)}
        print(f"{args.ranks} ranks, {args.threads} threads of an operator on both sides", flush=True)
        for turn in range(args.rounds):
            for kind in later:
                job = place.job(script, service if kind == "proxy" else None, **threads)
                job.finish(600).successful()
                steps = job.seconds()
                first[kind] += steps[START:LEARNED]
                later[kind] += steps[LEARNED:]
                median = statistics.median(steps[LEARNED:])
                print(f"round {turn + 1} {kind:<6} median {median * 1000:8.1f} ms", flush=True)
    ratio = times(later)
    print(f"proxy / cpu = {ratio:.3f}; of the first {LEARNED} steps {times(first):.3f}")
    figures = {kind: summary(values) for kind, values in later.items()} | {"ratio": ratio, "first_ratio": times(first)}
    return finish(args, figures, {f"step time at most {GOAL} times that of cpu/gloo": ratio <= GOAL})


def times(seconds: dict[str, list[float]]) -> float:
    return statistics.median(seconds["proxy"]) / statistics.median(seconds["cpu"])


if __name__ == "__main__":
    sys.exit(main())
