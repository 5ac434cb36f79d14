"""The report as trace events, in the JSON object format that Perfetto and chrome://tracing read.

Called by: the jitc command. Promises: pure; a job is a process of the trace, a rank's session a thread, thread 0 the
recovery itself; spans of a thread nest or follow each other; times are whole microseconds since the first one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .model import Lane, Recovery, Span, recoveries
from .words import clock

#: So much is drawn of what a rank computed after its newest recovery.
AFTER_SECONDS = 0.05
#: Above the numbers that sessions have.
MORE_LINES = 1_000_000_000


def trace(report: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the document: `traceEvents` and the meaning of its times."""
    found = recoveries(report)
    others = [one for kind in ("validations", "divergences", "races") for one in report[kind]]
    starts = [one.computing_since() for one in found] + [one["time"] for one in others]
    origin = min(starts, default=0.0)
    pids = _pids(report)
    threads = _Threads(found)
    events = [event for one in found for event in _recovery(one, pids[one.job], one.began - origin, threads)]
    events += _instants(report, pids, origin)
    names = [event for job, pid in pids.items() for event in _names(job, pid, found, threads.lines(pid))]
    about = {"from": "jitc report", "time 0": clock(origin), "unix time 0": f"{origin:.6f}"}
    return {"traceEvents": names + events, "displayTimeUnit": "ms", "otherData": about}


class _Threads:
    """The current end of each session's line. If the clock was set between two recoveries, the later one starts where
    the line ends."""

    def __init__(self, found: list[Recovery]) -> None:
        self._ends: dict[tuple[str, int], float] = {}
        self._lines: dict[int, list[float]] = {}  # the ends of a process's lines of recoveries
        self._newest = {one.key(lane): one.number for one in found for lane in one.lanes}

    def begin(self, one: Recovery, base: float) -> float:
        """Returns the start of the recovery."""
        return max([base, *(self._ends[one.key(lane)] for lane in one.lanes if one.key(lane) in self._ends)])

    def line(self, pid: int, base: float, end: float) -> int:
        """Returns the thread for a recovery. Two with one job's name may run at a time if no communicator connects
        them."""
        ends = self._lines.setdefault(pid, [])
        at = next((at for at, until in enumerate(ends) if until <= base), len(ends))
        ends[at:] = [end, *ends[at + 1 :]]
        return at and MORE_LINES + at

    def lines(self, pid: int) -> dict[int, str]:
        return {at and MORE_LINES + at: "recovery" for at in range(max(1, len(self._lines.get(pid, ()))))}

    def pieces(self, one: Recovery, lane: Lane, base: float) -> list[Span]:
        """Adds the rank's activity since the previous recovery. The report does not have computation after the newest
        one."""
        key, end = one.key(lane), lane.caught_up(one.seconds)
        last = end + AFTER_SECONDS if self._newest[key] == one.number else end
        first = max(lane.stopped - lane.computed, self._ends.get(key, float("-inf")) - base)
        self._ends[key] = base + last
        return list(lane.pieces(min(first, lane.stopped), one.seconds, last))


def _pids(report: Mapping[str, Any]) -> dict[str, int]:
    """Returns numbers from 1 for jobs in the order of their first mention. A validation names no job."""
    jobs = [str(one["job"]) for kind in ("recoveries", "divergences", "races") for one in report[kind]]
    jobs += ["validations"] if report["validations"] else []
    return {job: pid for pid, job in enumerate(dict.fromkeys(jobs), 1)}


def _names(job: str, pid: int, found: list[Recovery], lines: dict[int, str]) -> Iterator[dict[str, Any]]:
    lanes = {lane.session: lane for one in found if one.job == job for lane in one.lanes}
    names = lines | {number: ", ".join(filter(None, (lane.name, lane.place()))) for number, lane in lanes.items()}
    yield _about("process_name", pid, 0, {"name": f"job {job}"})
    for number, name in names.items():
        yield _about("thread_name", pid, number, {"name": name})
        yield _about("thread_sort_index", pid, number, {"sort_index": number})


def _recovery(one: Recovery, pid: int, base: float, threads: _Threads) -> Iterator[dict[str, Any]]:
    document, base = one.document, threads.begin(one, base)
    arguments = {
        key: document[key]
        for key in ("cause", "gpus", "decision", "boundary", "outcome", "bytes_restored", "attempts", "message")
    }
    line = threads.line(pid, base, base + one.seconds)
    yield from _row(pid, line, base, [Span(f"recovery {one.number}", 0.0, one.seconds)], arguments)
    yield from _row(pid, line, base, one.phases, {"recovery": one.number})
    yield _instant(f"fault: {document['cause']}", pid, base, {"gpus": document["gpus"]})
    for lane in one.lanes:
        pieces = threads.pieces(one, lane, base)
        yield from _row(pid, lane.session, base, pieces, {"recovery": one.number, "lost": lane.lost})


def _instants(report: Mapping[str, Any], pids: Mapping[str, int], origin: float) -> Iterator[dict[str, Any]]:
    for one in report["validations"]:
        about = {key: one[key] for key in ("outcome", "gpus", "step", "blocks", "bytes", "seconds")}
        yield _instant(f"validation: {one['outcome']}", pids["validations"], one["time"] - origin, about)
    for one in report["divergences"]:
        about = {key: one[key] for key in ("boundary", "odd", "outcome")}
        yield _instant("replicas stopped agreeing", pids[str(one["job"])], one["time"] - origin, about)
    for one in report["races"]:
        about = {key: one[key] for key in ("first", "second", "address", "bytes")}
        yield _instant("race", pids[str(one["job"])], one["time"] - origin, about)


def _about(name: str, pid: int, tid: int, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": pid, "tid": tid, "args": arguments}


def _instant(name: str, pid: int, seconds: float, arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns a mark on the job's own line, visible across the process."""
    return {"ph": "i", "s": "p", "name": name, "pid": pid, "tid": 0, "ts": _micros(seconds), "args": arguments}


def _row(pid: int, tid: int, base: float, spans: Sequence[Span], arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Adds consecutive spans. The report's numbers are rounded, so a span may seem to start before the previous one
    ends: it then starts there."""
    at = 0
    for one in spans:
        start = max(_micros(base + one.start), at)
        at = max(_micros(base + one.end), start)
        name = {"ph": "X", "name": one.what, "cat": "jitc", "pid": pid, "tid": tid}
        attempt = {"attempt": one.attempt} if one.attempt > 1 else {}
        yield name | {"ts": start, "dur": at - start, "args": arguments | attempt}


def _micros(seconds: float) -> int:
    return round(seconds * 1e6)
