"""The bars: one recovery with a lane per rank, and all recoveries of each job along the clock.

Called by: page.py. Promises: a bar's position is a share of its lane's width, so no layout is computed and nothing
moves; each bar has a title with its meaning and its numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from .html import Child, element
from .model import COMPUTE, Lane, Recovery, Span
from .words import clock, duration, ticks

#: What is drawn before and after a recovery, as shares of it.
BEFORE, AFTER = 0.04, 0.04
#: A bar of at least this share of the width has its name in it, and its length too.
NAMED, MEASURED = 0.05, 0.11


class Scale:
    """Maps seconds to a share of the width."""

    def __init__(self, first: float, last: float) -> None:
        self.first, self.last = first, max(last, first + 1e-6)

    def share(self, seconds: float) -> float:
        return seconds / (self.last - self.first)

    def at(self, seconds: float) -> float:
        return min(1.0, max(0.0, self.share(seconds - self.first)))


def recovery_chart(one: Recovery) -> Element:
    scale = Scale(-one.seconds * BEFORE, one.seconds * (1 + AFTER))
    rows = [_row("recovery", "", [_bar(span, scale, _phase_title(span)) for span in one.phases])]
    for lane in one.lanes:
        about = [one for one in (lane.place(), "lost" if lane.lost else "") if one]
        pieces = lane.pieces(scale.first, one.seconds, scale.last)
        bars = [_bar(piece, scale, _piece_title(piece, lane)) for piece in pieces]
        rows.append(_row(lane.name, ", ".join(about), bars, lost=lane.lost))
    spans = f"{len(one.lanes)} ranks" if len(one.lanes) != 1 else "1 rank"
    label = f"Recovery {one.number}, {duration(one.seconds)}, {spans}; the tables have the numbers"
    return element("div", *rows, _axis(scale, one.seconds), class_="chart", role="img", aria_label=label)


def _phase_title(span: Span) -> str:
    again = f", attempt {span.attempt}" if span.attempt > 1 else ""
    return f"{span.what}: {duration(span.seconds)}, from {duration(span.start)} on{again}"


def _piece_title(piece: Span, lane: Lane) -> str:
    if piece.what != COMPUTE:
        return f"{lane.name}: {piece.what}, {duration(piece.seconds)}, from {duration(piece.start)} on"
    if piece.start < 0 or piece.end <= lane.stopped:
        return f"{lane.name}: compute, for {duration(lane.computed)} until it was stopped"
    return f"{lane.name}: compute, from {duration(piece.start)} on"


def _row(name: str, about: str, bars: Sequence[Element], *, lost: bool = False) -> Element:
    words: list[Child] = [element("span", name, class_="name", title=name)]
    if about:
        words.append(element("span", about, class_="about lost" if lost else "about"))
    return element("div", element("div", *words, class_="label"), element("div", *bars, class_="lane"), class_="row")


def _bar(span: Span, scale: Scale, title: str) -> Element:
    width = scale.share(span.seconds)
    text = span.what if width >= NAMED else ""
    if width >= MEASURED and span.what != COMPUTE:
        text += f" {duration(span.seconds)}"
    style = f"left:{scale.at(span.start):.4%};width:{width:.4%}"
    return element("i", text, class_=f"bar {span.what}", style=style, title=title)


def _axis(scale: Scale, seconds: float) -> Element:
    marks = [
        element("span", duration(at), class_="tick", style=f"left:{scale.at(at):.4%}") for at in ticks(seconds)
    ]  # fmt: skip
    return _row("", "", marks)


def jobs_chart(recoveries: Sequence[Recovery]) -> Element:
    """Draws a row per job: when its ranks are known to have computed, and a mark for each recovery."""
    first = min(one.computing_since() for one in recoveries)
    scale = Scale(first, max(one.ended for one in recoveries))
    rows = []
    for job in dict.fromkeys(one.job for one in recoveries):
        mine = [one for one in recoveries if one.job == job]
        since, until = min(one.computing_since() for one in mine), max(one.ended for one in mine)
        style = f"left:{scale.at(since):.4%};width:{scale.share(until - since):.4%}"
        bars = [element("i", class_="bar compute", style=style, title=f"job {job}, from {clock(since)} on")]
        bars += [_mark(one, scale) for one in mine]
        rows.append(_row(f"job {job}", "1 recovery" if len(mine) == 1 else f"{len(mine)} recoveries", bars))
    ends = element("span", clock(first), class_="from"), element("span", clock(scale.last), class_="until")
    label = "When recoveries happened, a row for each job; the table below has the numbers"
    return element("div", *rows, _row("", "", ends), class_="chart jobs", role="img", aria_label=label)


def _mark(one: Recovery, scale: Scale) -> Element:
    width = max(0.0, scale.share(one.seconds))
    style = f"left:{scale.at(one.began):.4%};width:{width:.4%}"
    title = f"{one.number}. {one.fault()}: {one.document['outcome']}, {duration(one.seconds)}, {clock(one.began)}"
    return element("a", class_="bar mark", href=f"#recovery-{one.number}", style=style, title=title, tabindex=-1)
