"""Steps of a job while one of its GPUs is lost, against those before: all ranks go on, on one GPU less.

For 2, 4 and 8 ranks; the same job, so that nothing else differs. Ideal is what the GPU's share says: two ranks on one
GPU take twice as long where the GPU is what a step waits for. On the software device the machine's cores are shared
by all GPUs from the beginning, so that the ideal is 1 there: what is measured is what two workers on one GPU cost
beside the arithmetic.
"""

from __future__ import annotations

import json
import statistics
import sys
from typing import TYPE_CHECKING

from common import finish, parser, workplace

if TYPE_CHECKING:
    from toolkit.workplace import Workplace

#: Steps before the loss that do not count, and those around it.
WARM, AROUND = 12, 4
REHOMED_GOAL = 2.0


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8])
    arguments.add_argument("--steps", type=int, default=40, help="before the loss, and after it")
    args = arguments.parse_args()
    figures: dict[str, dict[str, float]] = {}
    with workplace("rehoming") as place:
        for ranks in args.ranks:
            figures[f"{ranks} ranks"] = one = measured(place, ranks, args.steps)
            print(
                f"{ranks} ranks: {one['before'] * 1000:.1f} ms on {ranks} GPUs, {one['after'] * 1000:.1f} ms on "
                f"{ranks - 1}: {one['ratio']:.2f} times; recovery {one['recovery']:.2f} s, felt {one['felt']:.2f} s",
                flush=True,
            )
    met = all(one["recovery"] <= REHOMED_GOAL for one in figures.values())
    return finish(args, dict(figures), {f"re-homed in at most {REHOMED_GOAL:g} s": met})


def measured(place: Workplace, ranks: int, steps: int) -> dict[str, float]:
    from toolkit.job import Script
    from toolkit.service import kill_at

    lost_at = WARM + steps
    service = place.service(ranks)
    service.inject(kill_at(lost_at, "backward", 3, kind="lose-gpu"), ranks - 1)
    script = Script("train_gpt.py", ("--layers", "2", "--width", "64", "--steps", str(lost_at + steps)), ranks)
    job = place.job(script, service)
    job.finish(900).successful()
    (recovery,) = service.report()
    assert recovery["outcome"] == "recovered", recovery
    seconds: list[float] = json.loads((job.folder / "record.rank0.json").read_text())["seconds"]
    before = statistics.median(seconds[WARM : lost_at - AROUND])
    after = statistics.median(seconds[lost_at + AROUND :])
    felt = max(seconds[lost_at - 1 : lost_at + 2]) - before
    return {"before": before, "after": after, "ratio": after / before, "recovery": recovery["seconds"], "felt": felt}


if __name__ == "__main__":
    sys.exit(main())
