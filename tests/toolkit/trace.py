"""Whether a document is a trace as Perfetto and chrome://tracing read it (the JSON object format).

Called by: tests of `jitc report --trace`.
"""

from __future__ import annotations

from typing import Any


def problems(document: dict[str, Any]) -> list[str]:
    """What is wrong with it."""
    events = document["traceEvents"]
    found = [f"{event}: no {key}" for event in events for key in _needed(event) if key not in event]
    found += [f"unknown phase {event['ph']}" for event in events if event["ph"] not in ("X", "M", "i")]
    found += [
        f"{event['name']}: {key} is {event[key]!r}"
        for event in events
        for key in ("ts", "dur", "pid", "tid")
        if key in event and (type(event[key]) is not int or event[key] < 0)
    ]
    named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    found += [
        f"thread {where} has no name"
        for where in sorted({(event["pid"], event["tid"]) for event in events if event["ph"] != "M"} - named)
    ]
    return found + _crossing(events)


def _needed(event: dict[str, Any]) -> tuple[str, ...]:
    more = {"X": ("ts", "dur"), "i": ("ts", "s"), "M": ("args",)}
    return ("ph", "name", "pid", "tid", *more.get(event["ph"], ()))


def _crossing(events: list[dict[str, Any]]) -> list[str]:
    """Spans of one thread that begin in another one and end after it: a viewer cannot stack these."""
    found = []
    threads: dict[tuple[int, int], list[tuple[int, int, str]]] = {}
    for event in events:
        if event["ph"] == "X":
            span = (event["ts"], event["ts"] + event["dur"], event["name"])
            threads.setdefault((event["pid"], event["tid"]), []).append(span)
    for where, spans in threads.items():
        around: list[tuple[int, int, str]] = []
        for start, end, name in sorted(spans, key=lambda one: (one[0], -one[1])):
            while around and around[-1][1] <= start:
                around.pop()
            if around and end > around[-1][1]:
                found.append(f"thread {where}: {name} at {start} crosses the end of {around[-1][2]}")
            around.append((start, end, name))
    return found
