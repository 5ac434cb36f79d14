"""Steps of a job while one of its GPUs is lost, against those before: all ranks go on, on one GPU less.

For 2, 4 and 8 ranks; the same job, so that nothing else differs. Ideal is what the GPU's share says: two ranks on one
GPU take twice as long where the GPU is what a step waits for. On the software device the machine's cores are shared
by all GPUs from the beginning, so that the ideal is 1 there: what is measured is what two workers on one GPU cost
beside the arithmetic. So it is on the paced one (the model of gpu_model.py: each worker has a stand-in with a clock of
its own). With --memory-limit the two ranks on one GPU may have to take turns at it (software device only).
"""

from __future__ import annotations

import statistics
import sys
from typing import TYPE_CHECKING

import gpu_model
from common import finish, parser, workplace

if TYPE_CHECKING:
    from toolkit.service import Service
    from toolkit.workplace import Workplace

#: Steps before the loss that do not count, and those around it.
WARM, AROUND = 12, 4
#: The state of the model is smaller by it.
SCALE = 256
REHOMED_GOAL = 2.0


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8])
    arguments.add_argument("--steps", type=int, default=40, help="before the loss, and after it")
    arguments.add_argument("--devices", nargs="+", default=["software", "paced"], choices=["software", "paced"])
    arguments.add_argument("--memory-limit", metavar="SIZE", help="of a software GPU: ranks may not fit on one")
    args = arguments.parse_args()
    figures: dict[str, dict[str, float]] = {}
    options = ("--memory-limit", args.memory_limit) if args.memory_limit else ()
    for device in args.devices:
        for ranks in args.ranks:
            with workplace("rehoming") as place:
                if device == "software":
                    one = software(place, ranks, args.steps, options)
                else:
                    one = paced(place, ranks, args.steps)
            figures[f"{ranks} ranks, {device}"] = one
            print(
                f"{ranks} ranks, {device}: {one['before'] * 1000:.1f} ms on {ranks} GPUs, {one['after'] * 1000:.1f} ms "
                f"on {ranks - 1}: {one['ratio']:.2f} times; recovery {one['recovery']:.2f} s, felt {one['felt']:.2f} s",
                flush=True,
            )
    met = all(one["recovery"] <= REHOMED_GOAL for one in figures.values())
    return finish(args, dict(figures), {f"re-homed in at most {REHOMED_GOAL:g} s": met})


def software(place: Workplace, ranks: int, steps: int, options: tuple[str, ...]) -> dict[str, float]:
    from toolkit.job import Script

    lost_at = WARM + steps
    service = place.service(ranks, options)
    lose(service, lost_at, ranks - 1)
    script = Script("train_gpt.py", ("--layers", "2", "--width", "64", "--steps", str(lost_at + steps)), ranks)
    job = place.job(script, service)
    job.finish(1800).successful()
    return compared(service, job.seconds(), lost_at)


def paced(place: Workplace, ranks: int, steps: int) -> dict[str, float]:
    """The program of the model, with a boundary at each step."""
    lost_at = WARM + steps
    options = ("--boundary-budget", "0", "--validate-every", "0")
    with gpu_model.sides(place, SCALE, options, ranks) as both:
        side = both["with"]
        assert side.service
        lose(side.service, lost_at, ranks - 1)
        seconds = side.steps(gpu_model.counts_of("bound by the GPU", SCALE, lost_at + steps), ranks)
        return compared(side.service, seconds, lost_at)


def lose(service: Service, at: int, gpu: int) -> None:
    from toolkit.service import kill_at

    service.inject(kill_at(at, "backward", 3, kind="lose-gpu"), gpu)


def compared(service: Service, seconds: list[float], lost_at: int) -> dict[str, float]:
    (recovery,) = service.report()
    assert recovery["outcome"] == "recovered", recovery
    before = statistics.median(seconds[WARM : lost_at - AROUND])
    after = statistics.median(seconds[lost_at + AROUND :])
    felt = max(seconds[lost_at - 1 : lost_at + 2]) - before
    return {"before": before, "after": after, "ratio": after / before, "recovery": recovery["seconds"], "felt": felt}


if __name__ == "__main__":
    sys.exit(main())
