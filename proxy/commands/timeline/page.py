"""The report as one page for a browser: the events, each rank's activity meanwhile, and the same as tables.

Called by: the jitc command. Promises: the page is one file that loads nothing and runs nothing; every text that comes
from a job is shown as text; a table has the number of every bar.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from ...health import races
from ...protection.determinism.differences import differences_text
from ..questions.text import from_peers, silent, size
from .chart import jobs_chart, recovery_chart
from .html import Child, document, element, lines, table
from .model import ACTIVITIES, PHASES, Recovery, recoveries
from .style import STYLE
from .words import clock, duration

#: More ranks than this have their numbers folded up; on paper they are open.
OPEN_RANKS = 8


def page(report: Mapping[str, Any], asked: float) -> str:
    """Returns the page. asked: clock time of the request to the service."""
    found = recoveries(report)
    body: list[Child] = [
        element("h1", "Recoveries"),
        element("p", f"What jitc-proxyd reports on {clock(asked)}.", class_="soft"),
        _cards(report, found),
    ]
    if found:
        body += [
            element("h2", "When"),
            element("div", jobs_chart(found), class_="panel"),
            element("h2", "What each rank did"),
            _legend(),
            *map(_section, found),
            element("h2", "All recoveries", id="all"),
            _all(found),
        ]
    else:
        body.append(element("p", "No recoveries so far."))
    body += [lines(silent(report), class_="bad")] if silent(report) else []
    return document("jitc: recoveries", STYLE, element("main", *body, *_others(report)))


def _cards(report: Mapping[str, Any], found: Sequence[Recovery]) -> Element:
    facts = [_counted(len(found), "recovery", "recoveries")]
    if found:
        longest = max(found, key=lambda one: one.seconds)
        jobs, ranks = {one.job for one in found}, {one.key(lane) for one in found for lane in one.lanes}
        facts += [
            _counted(len(jobs), "job", "jobs"),
            _counted(len(ranks), "rank", "ranks"),
            (duration(sum(one.seconds for one in found)), "spent in recoveries"),
            (duration(longest.seconds), f"the longest (number {longest.number})"),
        ]
    counts = {
        "not fully recovered": sum(not _went_well(one) for one in found),
        "validations": len(report["validations"]),
        "divergences of replicas": len(report["divergences"]),
        "races": len(report["races"]),
    }
    facts += [(str(count), text) for text, count in counts.items() if count]
    cards = [element("div", element("b", number), element("span", text), class_="card") for number, text in facts]
    return element("div", *cards, class_="cards")


def _counted(count: int, one: str, more: str) -> tuple[str, str]:
    return str(count), one if count == 1 else more


def _legend() -> Element:
    names = dict.fromkeys([*ACTIVITIES[:2], *PHASES])
    entries = [element("span", element("i", class_=f"bar {name}"), name) for name in names]
    return element("div", *entries, class_="legend")


def _went_well(one: Recovery) -> bool:
    return bool(one.document["outcome"] == "recovered")


def _section(one: Recovery) -> Element:
    document = one.document
    head = element(
        "h3",
        element("span", duration(one.seconds), class_="how-long"),
        f"{one.number}. {one.fault()}: ",
        element("span", document["outcome"], class_="good" if _went_well(one) else "bad"),
    )
    restored = f"{size(document['bytes_restored'])} restored{from_peers(document)}"
    attempts = f", {document['attempts']} attempts" if document["attempts"] > 1 else ""
    facts = f"job {one.job}, {clock(one.began)}: {one.decision()}, {restored}{attempts}"
    texts = [differences_text(document.get("differences", {})), document["message"], *document["notes"]]
    messages = [element("p", text, class_="message") for text in texts if text]
    return element(
        "section", head, element("p", facts, class_="soft"), *messages, recovery_chart(one), *_ranks(one),
        class_="recovery", id=f"recovery-{one.number}",
    )  # fmt: skip


def _ranks(one: Recovery) -> list[Element]:
    """Returns the lanes as numbers. A report of an older service has none."""
    if not any(lane.spans for lane in one.lanes):
        return []
    phases = [name for name in ACTIVITIES if any(lane.seconds(name) for lane in one.lanes)]
    rows = [
        [lane.name, lane.place().removeprefix("GPU "), "lost" if lane.lost else "healthy", duration(lane.computed),
         duration(lane.stopped), *(duration(lane.seconds(name)) for name in phases), duration(lane.waited),
         duration(lane.caught_up(one.seconds))]
        for lane in one.lanes
    ]  # fmt: skip
    heads = ["rank", "GPU", "worker", "computed before", "stopped at", *phases, "waited", "caught up at"]
    numbers = table(heads, rows, numbers=3)
    if len(rows) <= OPEN_RANKS:
        return [numbers]
    return [element("details", element("summary", f"the numbers of {len(rows)} ranks"), numbers)]


def _all(found: Sequence[Recovery]) -> Element:
    rows = []
    for one in found:
        told = one.document
        link = element("a", str(one.number), href=f"#recovery-{one.number}")
        texts = [one.job, one.fault(), one.decision(), told["outcome"]]
        numbers = [str(told["attempts"]), size(told["bytes_restored"]), duration(one.seconds)]
        phases = [duration(told["phases"].get(name, 0.0)) for name in PHASES]
        rows.append([link, element("time", clock(one.began)[:19]), *texts, *numbers, *phases])
    heads = ["", "noticed (UTC)", "job", "fault", "decision", "outcome", "attempts", "restored", "in all", *PHASES]
    return table(heads, rows, numbers=6)


def _others(report: Mapping[str, Any]) -> list[Element]:
    parts = []
    if report["validations"]:
        rows = [
            [clock(one["time"]), ", ".join(map(str, one["gpus"])), one["outcome"], str(one["step"]), str(one["blocks"]),
             str(len(one["different"])), size(one["bytes"]), duration(one["seconds"])]
            for one in report["validations"]
        ]  # fmt: skip
        heads = ["time", "GPU", "outcome", "step", "blocks", "different", "size", "took"]
        parts += [element("h2", "Validations"), table(heads, rows, numbers=3)]
    if report["divergences"]:
        rows = [
            [clock(one["time"]), one["job"], ", ".join(one["odd"]) or "no majority", one["outcome"],
             str(one["boundary"]), str(len(one["blocks"]))]
            for one in report["divergences"]
        ]  # fmt: skip
        heads = ["time", "job", "odd ranks", "outcome", "boundary", "blocks"]
        parts += [element("h2", "Replicas that stopped agreeing"), table(heads, rows, numbers=4)]
    if report["races"]:
        parts += [element("h2", "Races"), *(lines(races.lines(one), class_="message") for one in report["races"])]
    return parts
