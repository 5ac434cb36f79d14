"""What a training job notices of its service's death, of its replacement, and of a fault in between.

The demo's job. The service is killed and started again at once; replaced (`--replace`); killed together with a worker,
which the next service has to recover. Figures are how much longer than usual the longest step around each is, as rank 0
prints it, and how long the service takes to answer again. Run from bench/: python -m faults.restart
"""

from __future__ import annotations

import os
import signal
import statistics
import sys
import time
from typing import TYPE_CHECKING

from common import finish, parser, summary, workplace

from .growth import ENDLESS, step_seconds, wait_for_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolkit.job import Job
    from toolkit.service import Service

GOAL = 2.0
#: Steps before and after that count as usual.
QUIET = 15


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=3)
    args = arguments.parse_args()
    from toolkit.job import Script

    ways: dict[str, Callable[[Service], None]] = {
        "killed, started again": killed,
        "replaced": replaced,
        "killed, with a worker": killed_with_worker,
    }
    felt: dict[str, list[float]] = {name: [] for name in ways}
    away: dict[str, list[float]] = {name: [] for name in ways}
    with workplace("restart") as place:
        service = place.service(2)
        job = place.job(Script("train_gpt.py", ("--steps", str(ENDLESS))), service)
        for turn in range(args.rounds):
            for name, act in ways.items():
                longest, seconds = noticed(job, service, act)
                felt[name].append(longest)
                away[name].append(seconds)
                print(f"round {turn + 1} {name:<24} felt {longest:.3f} s, service away {seconds:.2f} s", flush=True)
        outcomes = {one["outcome"] for one in service.report()}
        job.kill()
    figures = {name: {"felt_by_the_job": summary(felt[name]), "service_away": summary(away[name])} for name in ways}
    met = {f"{name}: felt for at most {GOAL} s": statistics.median(values) <= GOAL for name, values in felt.items()} | {
        "all faults are recovered": outcomes <= {"recovered"}
    }
    return finish(args, figures, met)


def noticed(job: Job, service: Service, act: Callable[[Service], None]) -> tuple[float, float]:
    """Seconds that the longest step took beyond the usual one, and that the service was away."""
    before = wait_for_steps(job, job.steps() + QUIET)
    started = time.monotonic()
    act(service)
    seconds = time.monotonic() - started
    after = wait_for_steps(job, job.steps() + QUIET)
    while any(one["state"] != "serving" for gpu in service.status()["gpus"] for one in gpu["sessions"]):
        after = wait_for_steps(job, after + 1)
    steps = step_seconds(job)
    usual = statistics.median(steps[before - QUIET : before])
    return max(steps[before - 1 :]) - usual, seconds


def killed(service: Service) -> None:
    service.kill()
    service.restart()


def replaced(service: Service) -> None:
    service.replace()


def killed_with_worker(service: Service) -> None:
    worker = service.worker_pid(1)
    assert worker is not None
    os.kill(service.process.pid, signal.SIGKILL)
    os.kill(worker, signal.SIGKILL)
    killed(service)


if __name__ == "__main__":
    sys.exit(main())
