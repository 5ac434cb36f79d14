"""How long a job in peer mode must not lose a second worker, if it is not to go back to its reserve.

When a rank's worker is lost, its peer alone holds what both of them held; it copies that to the node's memory while
the other one is rebuilt. The window is from the kill until those copies are there, as the report's timeline says.
Workers are killed at places all over a step, in models of two sizes. Then it is seen that the window is what it is
taken for: the peer is killed as soon as its copies are there, which must cost no step, and both workers are killed at
once, which costs those back to the reserve. At the end the row for bench/README.md and the sentence for
docs/guarantees.md are printed. Run from bench/, on a quiet machine, 5 minutes: python -m faults.second_loss
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from common import finish, parser, summary, workplace

from .growth import ENDLESS, Cell, step_seconds, wait_for_steps

if TYPE_CHECKING:
    from toolkit.job import Job
    from toolkit.service import Service
    from toolkit.workplace import Workplace

#: The rank that is lost, and the peer that holds the same.
LOST, PEER = 1, 0
#: Steps from one kill to the next: the job relies on peers again.
APART = 4
#: How many times the peer is killed as soon as its copies are there.
CHECKS = 3
#: What the service says of a rank that has made its copies, and a recovery's note of one that needed the reserve.
COPIED, RESERVE = "holds is copied", "of which there are copies of everything"
SECONDS = 120.0
#: Of a size, at most.
MOST_JOBS = 5
Trial = Callable[["Job", "Service"], dict[str, Any]]


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--widths", type=int, nargs="+", default=[256, 1024], help="of a model of 4 layers")
    arguments.add_argument("--kills", type=int, default=10, help="of a worker, for each model")
    args = arguments.parse_args()
    from toolkit.tree import commit

    of, figures = commit(), dict[str, dict[str, Any]]()
    with workplace("second_loss") as place:
        for width in args.widths:
            cell = Cell(2, 4, width)
            one = figures[f"{cell.state_mb():.0f} MB"] = measured(place, cell, args)
            window, step = one["window"], one["step_seconds"]
            print(f"{cell.state_mb():.0f} MB: {window['median']:.3f} s, at most {window['high']:.3f} s", end="; ")
            print(f"a step {step:.3f} s; both at once: {one['steps_again']} steps again", flush=True)
    every = figures.values()
    met = {
        "a second loss after the window costs no step": all(not one["second_losses_that_cost"] for one in every),
        "a second loss at once goes back to the reserve": all(one["reserve_was_used"] for one in every),
    }
    print("\n".join(texts(figures, args.kills, of, time.strftime("%Y-%m-%d", time.gmtime()))))
    return finish(args, dict(figures), met)


def measured(place: Workplace, cell: Cell, args: argparse.Namespace) -> dict[str, Any]:
    trials: list[Trial] = [
        lambda job, service, at=at: lone_loss(job, service, at / args.kills) for at in range(args.kills)
    ]
    trials += [lambda job, service: double_loss(job, service, later=True)] * CHECKS
    trials += [lambda job, service: double_loss(job, service, later=False)]
    found: list[dict[str, Any]] = []
    job, service = on_peers(place, cell)
    jobs = 1
    while len(found) < len(trials):
        one = trials[len(found)](job, service)
        if not left_peers(service):
            found.append(one)
            continue
        print(f"{cell.state_mb():.0f} MB: the job keeps copies of all blocks by now; another one goes on", flush=True)
        if (jobs := jobs + 1) > MOST_JOBS:
            raise SystemExit("none of the jobs relies on its peers for long enough")
        end(job, service)
        job, service = on_peers(place, cell)
    step = statistics.median(step_seconds(job)[-4 * APART :])
    end(job, service)
    windows, checks, together = [one["window"] for one in found[: args.kills]], found[args.kills : -1], found[-1]
    return {
        "window": summary(windows) | {"high": max(windows)},
        "step_seconds": step,
        "second_losses_that_cost": sum(one["reserve"] for one in checks),
        "reserve_was_used": together["reserve"],
        "steps_again": together["steps_again"],
    }


def on_peers(place: Workplace, cell: Cell) -> tuple[Job, Service]:
    """A job in peer mode."""
    from toolkit.job import Script
    from toolkit.peer_mode import PEERS
    from toolkit.waiting import until

    service = place.service(cell.ranks)
    words = ("--layers", cell.layers, "--width", cell.width, "--batch", cell.batch, "--steps", ENDLESS)
    job = place.job(Script("train_gpt.py", tuple(map(str, words)), cell.ranks), service)
    until(lambda: PEERS in service.said(), 2 * SECONDS, f"the service says: {PEERS}")
    return job, service


def left_peers(service: Service) -> bool:
    """It may have, for good: ops that take long are taken for ranks that wait for each other (decision 88)."""
    from toolkit.peer_mode import COPIES, PEERS

    return COPIES in service.said().partition(PEERS)[2]


def end(job: Job, service: Service) -> None:
    job.kill()
    service.stop()


def lone_loss(job: Job, service: Service, share: float) -> dict[str, Any]:
    """The window of one kill, that share of a step after one has ended."""
    wait_for_steps(job, job.steps() + APART)
    time.sleep(share * statistics.median(step_seconds(job)[-4 * APART :]))
    before = len(service.report())
    killed = kill(service.worker_pid(LOST))
    return {"window": window(reported(service, before, 1)[-1], killed)}


def double_loss(job: Job, service: Service, *, later: bool) -> dict[str, Any]:
    """A rank is lost, and its peer: later than its copies are there, or at once."""
    from toolkit.waiting import until

    steps = wait_for_steps(job, job.steps() + APART)
    said, before = service.said().count(COPIED), len(service.report())
    lost, peer = service.worker_pid(LOST), service.worker_pid(PEER)
    kill(lost)
    if later:
        until(lambda: service.said().count(COPIED) > said, SECONDS, "the peer's copies are there")
    kill(peer)
    found = reported(service, before, 2 if later else 1)
    return {"reserve": any(map(went_to_reserve, found)), "steps_again": steps - found[-1]["boundary"]}


def kill(pid: int | None) -> float:
    """When, by the clock."""
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    return time.time()


def reported(service: Service, before: int, losses: int) -> list[dict[str, Any]]:
    """The recoveries after the first ones, once they have come through so many losses."""
    from toolkit.service import attempts
    from toolkit.waiting import until

    until(lambda: attempts(service.report()[before:]) >= losses, SECONDS, "the recovery is over")
    found = service.report()[before:]
    assert {one["outcome"] for one in found} == {"recovered"}, found
    return found


def window(recovery: Mapping[str, Any], killed: float) -> float:
    """Seconds from the kill until the survivor had copied what it alone held; 0 where it copied nothing: no window."""
    [survivor] = [one for one in recovery["ranks"] if not one["lost"]]
    ends = [one["at"] + one["seconds"] for one in survivor["spans"] if one["phase"] == "rebuild"]
    return float(recovery["began"] + max(ends) - killed) if ends else 0.0


def went_to_reserve(recovery: Mapping[str, Any]) -> bool:
    return any(RESERVE in one for one in recovery["notes"])


def texts(figures: Mapping[str, Mapping[str, Any]], kills: int, commit: str, date: str) -> Sequence[str]:
    """The row for bench/README.md, and the sentence for docs/guarantees.md."""
    windows = [one["window"] for one in figures.values()]
    medians, highs = (" and ".join(f"{one[name]:.2f}" for one in windows) for name in ("median", "high"))
    sizes = " and ".join(figures)
    return (
        "| window in which the loss of a second worker costs a job in peer mode its steps back to the reserve: from "
        f"the kill of a rank's worker until its peer has copied what it alone holds; two ranks with {sizes} of state, "
        f"{kills} kills each; `faults/second_loss.py`, {commit}, {date} "
        f"| median {medians} s, at most {highs} s | none |",
        f"From the kill until those copies are there {medians} s pass (medians; at most {highs} s) with {sizes} of "
        f"state (`cd bench; python -m faults.second_loss`, {commit}, {date}); a second loss after that costs no step.",
    )


if __name__ == "__main__":
    sys.exit(main())
