"""Made-up reports, in the form that docs/cli.md gives. Called by: tests of the report's picture."""

from __future__ import annotations

import random
from typing import Any

from toolkit.documents import example

PHASES = ("detect", "fence", "rebuild", "decide", "restore", "resume", "replay")
STARTED = 1_790_000_000.0


def report(*recoveries: dict[str, Any], **others: list[dict[str, Any]]) -> dict[str, Any]:
    kinds = ("validations", "divergences", "races", "injected", "nodes")
    return {"recoveries": list(recoveries), **{kind: [] for kind in kinds}} | others


def examples(kind: str) -> list[dict[str, Any]]:
    """What the page has of this kind: validations, divergences, races."""
    found: list[dict[str, Any]] = example("jitc report --json")[kind]
    return found


def recovery(
    began: float = STARTED + 60, ranks: int = 2, lost: int = 1, seed: int = 0, **changes: Any
) -> dict[str, Any]:
    """One in which the phases follow each other and every rank has a part in each."""
    source = random.Random(seed)
    seconds = {name: source.uniform(0.001, 0.4) for name in PHASES}
    at, starts = 0.0, {}
    for name in PHASES:
        starts[name] = at
        at += seconds[name]
    timeline = [{"phase": name, "at": starts[name], "seconds": seconds[name], "attempt": 1} for name in PHASES]
    lanes = [_rank(number, number == lost, (starts, seconds), source) for number in range(ranks)]
    (document,) = example("jitc report --json")["recoveries"]
    found = document | {
        "time": began + at, "began": began, "seconds": at, "phases": seconds, "timeline": timeline, "ranks": lanes,
        "gpu": lost, "gpus": [lost], "sessions": [one["name"] for one in lanes],
    } | changes  # fmt: skip
    return {**found, "places": [{"node": "", "gpu": one} for one in found["gpus"]]} | changes


def _rank(
    number: int, lost: bool, phases: tuple[dict[str, float], dict[str, float]], source: random.Random
) -> dict[str, Any]:
    starts, seconds = phases
    parts = ("rebuild", "restore", "resume", "replay") if lost else ("fence", "restore", "resume", "replay")
    spans = [
        {"phase": name, "at": starts[name], "seconds": seconds[name] * (1 if lost else source.uniform(0.2, 0.9))}
        for name in parts
    ]
    stopped = 0.0 if lost else starts["fence"]
    end = spans[-1]["at"] + spans[-1]["seconds"]
    return {
        "session": number + 1, "name": f"rank {number} (pid {4800 + number})", "rank": number, "node": "",
        "gpu": number,
        "lost": lost, "computed": 12.5, "stopped": stopped, "spans": spans,
        "waited": end - stopped - sum(one["seconds"] for one in spans),
    }  # fmt: skip


def hostile(text: str) -> dict[str, Any]:
    """Every text of a report that a user, a program or a worker has a say in is this one."""
    one = recovery(**dict.fromkeys(("job", "cause", "message", "decision"), text))
    one |= {"outcome": f"given up: {text}", "notes": [text], "culprits": [text], "bytes_from_peers": {text: 5}}
    one["ranks"][0]["name"] = one["sessions"][0] = text
    (race,) = examples("races")
    race |= {"job": text, "sessions": [text], "first": race["first"] | {"op": text, "operator": text, "place": text}}
    (divergence,) = examples("divergences")
    divergence |= {"job": text, "odd": [text], "outcome": text}
    (validation,) = examples("validations")
    validation |= {"outcome": text}
    return report(one, races=[race], divergences=[divergence], validations=[validation])


def many(count: int, ranks: int) -> dict[str, Any]:
    """A long run: recoveries minutes apart, each with ranks that have computed since the one before."""
    found: list[dict[str, Any]] = []
    since = [STARTED] * ranks
    for number in range(count):
        one = recovery(STARTED + 120 * (number + 1), ranks, lost=number % ranks, seed=number)
        for at, lane in enumerate(one["ranks"]):
            lane["computed"] = one["began"] + lane["stopped"] - since[at]
            replay = lane["spans"][-1]
            since[at] = one["began"] + replay["at"] + replay["seconds"]
        found.append(one)
    return report(*found)
