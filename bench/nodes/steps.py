"""Step time of one job on one node without a cluster, on one node of a cluster, and on two nodes.

Rounds alternate between the three, so that a slower moment of the machine hits all. In the measured steps, without the
first ones (bench/step_overhead.py says why), it is counted what the store was asked, and what went over node 0's link.
Called by: __main__.py.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from common import summary

from . import meter
from .town import Town, Watched, training

ONE, CLUSTER, TWO = "one node, without --cluster", "one node, with --cluster", "two nodes"
#: First steps of each job, which do not count, and how many more there are at its end.
START, LAST = 25, 2
RATIO, NOISE = 1.3, 1.05
#: Requests to the store that say or ask something; a lease is kept alive by the clock, whatever the job does.
ASKED = ("Range", "Put", "DeleteRange", "Txn", "Watch", "LeaseGrant", "LeaseRevoke")
Say = Callable[[str], None]


def measure(town: Town, rounds: int, steps: int, say: Say) -> tuple[dict[str, Any], dict[str, bool]]:
    """Returns the figures, and which goals are met."""
    script = training("--layers", 4, "--width", 256, "--steps", START + steps + LAST)
    ways = {ONE: [town.alone] * 2, CLUSTER: [town.near] * 2, TWO: [town.near, town.far]}
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
    for turn in range(rounds):
        for way, places in ways.items():
            job = Watched(town, script, f"steps{turn}-{list(ways).index(way)}", places)
            one = window(town, job, steps)
            job.job.finish().successful()
            found[way].append(one)
            say(f"round {turn + 1}, {way}: {1000 * statistics.median(one['step']):.1f} ms; {meter.told(one['spent'])}")
    figures = {way: row(each, steps) for way, each in found.items()}
    return figures | ratios(figures), goals(figures)


def window(town: Town, job: Watched, steps: int) -> dict[str, Any]:
    """Waits until the job has made the steps that count. Returns what was counted meanwhile."""
    job.wait_for(START)
    first, moment = len(job.seconds()), town.moment()
    calls, wire = meter.store_calls(town.store.members), meter.wire_bytes(town.nodes[0])
    job.wait_for(START + steps)
    more = meter.wire_bytes(town.nodes[0]) - wire
    asked = meter.more(calls, meter.store_calls(town.store.members))
    done = job.seconds()
    spent = meter.spent(moment, town.moment())
    return {
        "step": done[START : START + steps],
        "done": len(done) - first,
        "calls": asked,
        "wire": more,
        "spent": spent,
    }


def row(each: Sequence[Mapping[str, Any]], steps: int) -> dict[str, Any]:
    """Returns the figures of a way, of all rounds."""
    done = sum(one["done"] for one in each)
    calls: dict[str, int] = {}
    for one in each:
        for name, count in one["calls"].items():
            calls[name] = calls.get(name, 0) + count
    return {
        "step_seconds": summary([seconds for one in each for seconds in one["step"]]),
        "store_calls": calls,
        "store_calls_per_step": sum(count for name, count in calls.items() if name in ASKED) / done,
        "wire_bytes_per_step": sum(one["wire"] for one in each) / done,
        "processor_seconds_per_step": sum(one["spent"]["processor_seconds"] for one in each) / done,
        "spent": [one["spent"] for one in each],
    }


def ratios(figures: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    medians = {way: one["step_seconds"]["median"] for way, one in figures.items()}
    return {"with_cluster": medians[CLUSTER] / medians[ONE], "two_nodes": medians[TWO] / medians[ONE]}


def goals(figures: Mapping[str, Mapping[str, Any]]) -> dict[str, bool]:
    found = ratios(figures)
    calls = max(one["store_calls_per_step"] for one in figures.values())
    return {
        f"a step on one node with --cluster takes at most {NOISE} times that without ({found['with_cluster']:.2f})": (
            found["with_cluster"] <= NOISE
        ),
        f"a step on two nodes takes at most {RATIO} times that on one ({found['two_nodes']:.2f})": (
            found["two_nodes"] <= RATIO
        ),
        f"a step asks the store nothing ({calls:.3f} requests)": calls == 0,
    }
