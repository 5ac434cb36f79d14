"""The parts of the benchmark: which faults happen to which job, their figures and their goals.

Called by: __main__.py. Promise: a part has its job alone on the nodes, and compares it at its end with one that had no
fault.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from common import summary
from toolkit.job import Script

from . import meter, steps
from .faults import PEERS, STEPS, STEPS_CUT, Trials, after, when_noticed
from .town import Town, training

#: Seconds of a goal, in the order of the parts.
COPIES, FROM_PEERS, CUT, SERVICE, STORE = 1.0, 2.0, 2.0, 3.0, 3.0
#: About 100 MB of weights, gradients and moments: 4 layers of this width.
WIDTH, SETTLES = 352, 48
#: Steps at a job's end, after all that happens to it.
LAST = 6
#: For how long the link is cut, at least.
SHORT = 1.0
#: How the store loses members.
STORE_WAYS = "no member", "one that does not lead it", "the one that leads it", "that, in the recovery"
NONE, OTHER, LEADS, LATER = STORE_WAYS
Say = Callable[[str], None]
Figures = tuple[dict[str, Any], dict[str, bool]]


def step_time(town: Town, rounds: int, say: Say) -> Figures:
    return steps.measure(town, max(1, rounds - 1), 30, say)


def worker(town: Town, rounds: int, say: Say) -> Figures:
    """Lost on another node than the leader's: while there are copies of all blocks, then while peers have them."""
    count = SETTLES + 2 * rounds * STEPS + LAST
    trials = Trials(town, training("--layers", 4, "--width", WIDTH, "--batch", 2, "--steps", count), "worker")
    found: dict[str, list[dict[str, Any]]] = {"copies": [], "peers": []}
    said = [len(one.said()) for one in town.cluster.services]
    for _ in range(rounds):
        note(found, trials.measured(trials.lose_worker), say)
    pace = trials.job.job.pace
    while not in_peer_mode(town, said) and pace.granted < SETTLES + rounds * STEPS:
        trials.go(2)
        trials.job.stands()
    for _ in range(rounds if in_peer_mode(town, said) else 0):
        note(found, trials.measured(trials.lose_worker), say)
    return worker_figures(found, trials.end())


def in_peer_mode(town: Town, said: Sequence[int]) -> bool:
    """Returns whether a service has said so, after these characters: earlier jobs were in that mode, too."""
    return any(PEERS in one.said()[at:] for one, at in zip(town.cluster.services, said, strict=True))


def note(found: dict[str, list[dict[str, Any]]], one: dict[str, Any], say: Say) -> None:
    how = "peers" if one["bytes_from_peers"] else "copies"
    found[how].append(one)
    say(f"a worker, with {how}: {one['seconds']:.2f} s ({phases(one)}); {meter.told(one['spent'])}")


def phases(one: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {seconds:.2f}" for name, seconds in one["phases"].items())


def worker_figures(found: Mapping[str, Sequence[Mapping[str, Any]]], differ: str) -> Figures:
    figures = {how: timed(each) for how, each in found.items()}
    met = {
        f"a worker, {how}: at most {most} s{measured(figures[how])}": within(figures[how], most)
        for how, most in (("copies", COPIES), ("peers", FROM_PEERS))
    }
    return {**figures, "differs": differ}, met | identical("worker", found.values(), differ)


def cuts(town: Town, rounds: int, say: Say) -> Figures:
    """The link is cut, and whole again after a second, or once both nodes have noticed."""
    trials = Trials(town, small(2 * rounds * STEPS_CUT), "cuts")
    ways = {"healed after 1 s": after(SHORT), "healed once noticed": when_noticed(town)}
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, heal in ways.items():
            one = trials.measured(lambda heal=heal: trials.lose_link(heal))
            found[way].append(one)
            recoveries = ", ".join(f"{each['cause']} {each['seconds']:.2f} s" for each in one["recoveries"]) or "none"
            say(
                f"a cut of {one['cut_seconds']:.1f} s, {way}: goes on after {one['seconds']:.2f} s, recoveries: "
                f"{recoveries}; {meter.told(one['spent'])}"
            )
    differ = trials.end()
    figures = {way: timed(each) for way, each in found.items()}
    met = {f"a cut, {way}: at most {CUT} s{measured(one)}": within(one, CUT) for way, one in figures.items()}
    recovered = [each for way in found.values() for one in way for each in one["recoveries"]]
    return {**figures, "differs": differ}, met | identical("cuts", [recovered], differ)


def service(town: Town, rounds: int, say: Say) -> Figures:
    """The leader's service is killed while it recovers a worker of the other node."""
    trials = Trials(town, small(rounds * STEPS), "service")
    found = []
    for _ in range(rounds):
        found.append(one := trials.measured(trials.lose_service))
        late = "" if one["in_time"] else ", but it was over before"
        say(f"the leader's service, in a recovery: {one['seconds']:.2f} s to its end{late}; {meter.told(one['spent'])}")
    differ = trials.end()
    figures = timed([one for one in found if one["in_time"]])
    met = {
        f"the leader's service: at most {SERVICE} s to the recovery's end{measured(figures)}": within(figures, SERVICE)
    }
    return {"killed": figures, "all": found, "differs": differ}, met | identical("service", [found], differ)


def store(town: Town, rounds: int, say: Say) -> Figures:
    """Members of the store are killed when a worker is."""
    trials = Trials(town, small(len(STORE_WAYS) * rounds * STEPS), "store")
    ways: dict[str, Callable[[], dict[str, Any]]] = {
        NONE: trials.lose_worker,
        OTHER: lambda: trials.lose_member(leads=False),
        LEADS: lambda: trials.lose_member(leads=True),
        LATER: lambda: trials.lose_member(leads=True, later=True),
    }
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, lose in ways.items():
            one = trials.measured(lose)
            found[way].append(one)
            say(f"the store loses {way}: {one['seconds']:.2f} s ({phases(one)}); {meter.told(one['spent'])}")
    return store_figures(found, trials.end())


def store_figures(found: Mapping[str, Sequence[Mapping[str, Any]]], differ: str) -> Figures:
    figures = {way: timed(each) for way, each in found.items()}
    usual = statistics.median(one["seconds"] for one in found[NONE])
    met = {}
    for way in (OTHER, LEADS, LATER):
        more = max(one["seconds"] for one in found[way]) - usual
        met[f"the store loses {way}: at most {STORE} s more ({more:.2f})"] = more <= STORE
    return {**figures, "differs": differ}, met | identical("store", found.values(), differ)


def small(steps: int) -> Script:
    """Returns the demo's model, with so many steps for what happens to it."""
    return training("--steps", steps + LAST)


def timed(each: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns what was seen, and how long it took; without a time where nothing was seen."""
    return {"seconds": summary([one["seconds"] for one in each]) if each else None, "each": list(each)}


def within(figures: Mapping[str, Any], most: float) -> bool:
    return figures["seconds"] is not None and figures["seconds"]["median"] <= most


def measured(figures: Mapping[str, Any]) -> str:
    found = figures["seconds"]
    return f" ({found['median']:.2f})" if found else " (not seen)"


def identical(name: str, each: Any, differ: str) -> dict[str, bool]:
    """Returns the goal that a part's job was none the worse for it."""
    outcomes = {one["outcome"] for many in each for one in many}
    told = f" ({differ})" if differ else ""
    return {f"{name}: all recovered, and identical to the last bit{told}": outcomes <= {"recovered"} and not differ}


PARTS: Mapping[str, Callable[[Town, int, Say], Figures]] = {
    "steps": step_time,
    "worker": worker,
    "cuts": cuts,
    "service": service,
    "store": store,
}
