"""A job whose workers are killed without pause: whether it finishes, identical, and what share of its time that costs.

Eight ranks; half of the GPUs are lost at the beginning, so that ranks share what is left; then workers are killed every
five seconds, on one GPU after the other, in turn one of them and all of them. The same job without faults, in the same
run, says what it should have computed and how long it should have taken. Run from bench/: python -m faults.load
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import time
from typing import TYPE_CHECKING

from common import finish, parser, workplace

if TYPE_CHECKING:
    from toolkit.job import Job
    from toolkit.service import Service

#: Boundaries that go by before GPUs are lost: peers know each other.
SETTLED = 5
#: Steps of its end in which nothing is killed: a rank that has ended cannot be recovered.
LAST = 20


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--minutes", type=float, default=10.0, help="of the job without faults")
    arguments.add_argument("--every", type=float, default=5.0, help="seconds from one kill to the next")
    arguments.add_argument("--ranks", type=int, default=8)
    arguments.add_argument("--gpus", type=int, default=4, help="GPUs that are left for the ranks")
    args = arguments.parse_args()
    from toolkit.job import Script
    from toolkit.record import assert_identical

    script = Script("train_gpt.py", ("--layers", "2", "--width", "64"), args.ranks)
    with workplace("load") as place:
        service = place.service(args.ranks)
        seconds = statistics.median(finished(place.job(script.with_arguments("--steps", "60"), service)).seconds())
        script = script.with_arguments("--steps", str(max(60, int(args.minutes * 60 / seconds))))
        print(f"{script.arguments[-1]} steps of {seconds * 1000:.0f} ms without faults", flush=True)
        plain = finished(place.job(script, service), args.minutes * 3)
        service = place.service(args.ranks)
        job = place.job(script, service)
        faults = under_fire(job, service, args.ranks, args.gpus, args.every)
        finished(job)
        assert_identical(job.finish().records, plain.finish().records)
        report = service.report()
        took, should = sum(job.seconds()), sum(plain.seconds())
    outcomes = sorted({one["outcome"] for one in report})
    figures = {
        "faults": faults,
        "recoveries": len(report),
        "seconds": {"plain": should, "under_fire": took},
        "lost_share": 1 - should / took,
        "recovery_seconds": statistics.median(one["seconds"] for one in report),
        "outcomes": outcomes,
    }
    print(f"{faults} faults, {len(report)} recoveries of {figures['recovery_seconds']:.2f} s (median): {outcomes}")
    print(f"{took:.0f} s instead of {should:.0f} s: {figures['lost_share']:.1%} of the time was lost")
    return finish(args, figures, {"it finishes, identical": True, "all are recovered": outcomes == ["recovered"]})


def under_fire(job: Job, service: Service, ranks: int, gpus: int, every: float) -> int:
    """Until the job comes to its end; how many faults that were."""
    import grpc
    from toolkit.service import kill_at

    from jitc.v1 import control_pb2

    steps = int(job.script.arguments[-1])
    for gpu in range(gpus, ranks):
        service.inject(kill_at(SETTLED, "backward", 3, kind="lose-gpu"), gpu)
    faults = ranks - gpus
    while job.process.poll() is None:
        time.sleep(every)
        if SETTLED + 1 < job.steps() < steps - LAST:
            one = control_pb2.Fault(kind="kill-worker", operations=faults // gpus % 2)  # 0: all workers of the GPU, now
            with contextlib.suppress(grpc.RpcError):  # refused: the GPU's worker is being replaced
                service.inject(one, faults % gpus)
                faults += 1
    return faults


def finished(job: Job, minutes: float = 10.0) -> Job:
    job.finish(minutes * 60 + 60).successful()
    return job


if __name__ == "__main__":
    sys.exit(main())
