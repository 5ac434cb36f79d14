"""Step time with `--check-order` against a service without it, for a GPT of small operators and one of larger ones.

The checker's work is per operator, so the small ones are its worst case. Rounds alternate between the two services, so
that a slower moment of the machine hits both; the first steps of each job (start-up, learning of output shapes) are
left out. A race in the example would be a defect: then the benchmark fails.
"""

from __future__ import annotations

import statistics
import sys

from common import finish, parser, summary, workplace

GOAL = 3.0
SIZES = {"small": ("--layers", "4", "--width", "32", "--batch", "1"), "larger": ("--layers", "4", "--width", "256")}


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--steps", type=int, default=10, help="measured steps of each job")
    arguments.add_argument("--ranks", type=int, default=2)
    arguments.add_argument("--skip", type=int, default=3, help="first steps of each job that do not count")
    args = arguments.parse_args()
    from toolkit.job import Script

    figures: dict[str, float | dict[str, float]] = {}
    met: dict[str, bool] = {}
    count = str(args.steps + args.skip)
    with workplace("order_cost") as place:
        services = {"plain": place.service(args.ranks), "checked": place.service(args.ranks, ("--check-order",))}
        for size, options in SIZES.items():
            script = Script("train_gpt.py", (*options, "--steps", count), args.ranks)
            seconds: dict[str, list[float]] = {kind: [] for kind in services}
            for turn in range(args.rounds):
                for kind, service in services.items():
                    job = place.job(script, service)
                    job.finish(600).successful()
                    seconds[kind] += job.seconds()[args.skip :]
                    milliseconds = statistics.median(seconds[kind]) * 1000
                    print(f"{size:<6} round {turn + 1} {kind:<7} median {milliseconds:8.1f} ms", flush=True)
            ratio = statistics.median(seconds["checked"]) / statistics.median(seconds["plain"])
            print(f"{size}: checked / plain = {ratio:.3f}")
            figures |= {f"{size}_{kind}": summary(values) for kind, values in seconds.items()}
            figures[f"{size}_ratio"] = ratio
            met[f"step time of {size} operators at most {GOAL} times that without the checker"] = ratio <= GOAL
        races = services["checked"].races()
    met["no race is found in the example"] = not races
    return finish(args, figures, met)


if __name__ == "__main__":
    sys.exit(main())
