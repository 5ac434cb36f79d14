"""Seconds from the kill of a worker to the first new op, for the demo's job.

There are two figures: the service's report, phase by phase, and the additional time of the step as the training process
records it, which does not depend on the service. Beside them, what the comparison of ranks at the boundary after each
recovery takes the service; the job does not wait for that. Run from bench/: python -m faults.recovery_time
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping
from typing import Any

from common import finish, parser, summary, workplace

GOAL, DETECT_GOAL = 0.5, 0.1
#: Of a recovery, what its proof may take.
PROOF_GOAL = 0.05
#: Ops of the phase that go by before the kill: well inside it.
SKIP = {"backward": 60, "optimizer": 5, "forward": 30, "collective": 0}
PHASES = ("backward", "optimizer", "forward", "collective", "backward")


def proven(proof: Mapping[str, Any]) -> bool:
    return proof["state"] == "proven" and proof["blocks"] > 0


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--recoveries", type=int, default=5)
    arguments.add_argument("--every", type=int, default=6, help="steps from one kill to the next")
    args = arguments.parse_args()
    from toolkit.job import Script
    from toolkit.service import kill_at

    steps = args.every * (args.recoveries + 1)
    script = Script("train_gpt.py", ("--steps", str(steps)))
    boundaries = [args.every * (number + 1) for number in range(args.recoveries)]
    with workplace("recovery_time") as place:
        service = place.service(2)
        for number, boundary in enumerate(boundaries):
            phase = PHASES[number % len(PHASES)]
            service.inject(kill_at(boundary, phase, SKIP[phase]), 1)
        job = place.job(script, service)
        job.finish(600).successful()
        report = service.report()
        seconds = job.seconds()
    usual = statistics.median(seconds)
    felt = [seconds[boundary] - usual for boundary in boundaries]
    for one, extra in zip(report, felt, strict=False):
        phases = "  ".join(f"{name} {float(value):.3f}" for name, value in one["phases"].items())
        proof = f"{one['proof']['state']} in {one['proof']['seconds']:.3f} s"
        print(f"{one['seconds']:.3f} s (felt {extra:.3f} s)  {one['decision']:<12}  {phases}  {proof}")
    figures = {
        "reported": summary([one["seconds"] for one in report]),
        "felt_by_the_job": summary(felt),
        "detect": summary([float(one["phases"].get("detect", 0.0)) for one in report]),
        "proof": summary([one["proof"]["seconds"] for one in report]),
        "recoveries": report,
    }
    share = figures["proof"]["median"] / figures["reported"]["median"]
    print(f"a proof takes {100 * share:.1f} % of a recovery (medians)")
    met = {
        f"{args.recoveries} faults, {args.recoveries} recoveries": len(report) == args.recoveries,
        f"median at most {GOAL} s": figures["reported"]["median"] <= GOAL and statistics.median(felt) <= GOAL,
        f"{args.recoveries} recoveries proven, by blocks": all(proven(one["proof"]) for one in report),
        f"a proof takes at most {100 * PROOF_GOAL:.0f} % of a recovery": share <= PROOF_GOAL,
        f"detection at most {DETECT_GOAL} s": figures["detect"]["high"] <= DETECT_GOAL,
    }
    return finish(args, figures, met)


if __name__ == "__main__":
    sys.exit(main())
