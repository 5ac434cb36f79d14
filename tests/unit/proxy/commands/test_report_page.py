"""The page of `jitc report --html`: hostile texts, no recoveries, many ranks, bars and tables that agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from made_report import STARTED, hostile, many, recovery, report
from toolkit.browser import rendered, screenshot
from toolkit.page import Node, parse

from jitc.proxy.commands.timeline.model import Lane, Span, recoveries
from jitc.proxy.commands.timeline.page import page
from jitc.proxy.commands.timeline.words import clock, duration, ticks
from jitc.proxy.common.printable import LINE, printable

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&lt;\x00\u202eabc\x1b[31m\n\ud800]]>--></style>"
NOW = STARTED + 1e6


def bars(page: Node) -> list[tuple[str, float, float]]:
    """Class, left and width of each bar, as shares of its lane."""
    found = []
    for one in page.all(class_="bar"):
        place = re.fullmatch(r"left:([\d.]+)%;width:([\d.]+)%", one.attributes.get("style", ""))
        if place:
            found.append((one.attributes["class"], float(place[1]) / 100, float(place[2]) / 100))
    return found


def rows(table: Node) -> list[list[str]]:
    return [[cell.text() for cell in row.children] for row in table.all("tr")]


def test_hostile_texts_stay_texts() -> None:
    shown = parse(page(hostile(HOSTILE), NOW))
    assert not [one.tag for one in shown.all() if one.tag in ("script", "img", "iframe", "object", "link")]
    assert not [name for one in shown.all() for name in one.attributes if name.startswith("on") or name == "src"]
    assert {one.attributes["href"] for one in shown.all("a")} == {"#recovery-1"}
    assert shown.text().count(printable(HOSTILE)) >= 10
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown.text())


def test_a_long_text_is_cut() -> None:
    shown = parse(page(hostile("x" * 2 * LINE), NOW))
    assert max(len(cell.text()) for cell in shown.all("td")) == LINE + 3
    assert max(len(said) for one in shown.all() for said in one.attributes.values()) == LINE + 3


def test_the_page_loads_nothing() -> None:
    text = page(many(3, 2), NOW)
    (policy,) = [
        one for one in parse(text).all("meta") if one.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.attributes["content"] == "default-src 'none'; style-src 'unsafe-inline'"
    assert not re.search(r"https?:|url\(|@import|\ssrc=", text)
    assert len(parse(text).all("style")) == 1


def test_no_recoveries() -> None:
    shown = parse(page(report(), NOW))
    assert "No recoveries so far." in shown.text()
    assert not shown.all("table")
    assert not shown.all(class_="chart")


@pytest.mark.parametrize(("count", "ranks"), [(1, 1), (1, 8), (1, 64), (50, 2)])
def test_each_rank_has_a_lane_and_the_same_numbers_in_a_table(count: int, ranks: int) -> None:
    document = many(count, ranks)
    shown = parse(page(document, NOW))
    sections = shown.all("section")
    assert [one.attributes["id"] for one in sections] == [f"recovery-{number + 1}" for number in range(count)]
    for section, told in zip(sections, document["recoveries"], strict=True):
        lanes = section.all(class_="lane")
        assert len(lanes) == 1 + ranks + 1  # the recovery, its ranks, the axis
        head, *numbers = rows(section.all("table")[0])
        assert len(numbers) == ranks
        assert len(section.all("details")) == (ranks > 8)
        for lane, row, rank in zip(lanes[1:-1], numbers, told["ranks"], strict=True):
            shown_of = dict(zip(head, row, strict=True))
            assert (shown_of["rank"], shown_of["worker"]) == (rank["name"], "lost" if rank["lost"] else "healthy")
            assert shown_of["waited"] == duration(rank["waited"])
            for span in rank["spans"]:
                assert shown_of[span["phase"]] == duration(span["seconds"])
                (bar,) = lane.all(class_=span["phase"])
                assert duration(span["seconds"]) in bar.attributes["title"]
    head, *numbers = rows(shown.all("table")[-1])
    assert [row[0] for row in numbers] == [str(number + 1) for number in range(count)]
    assert numbers[0][head.index("replay")] == duration(document["recoveries"][0]["phases"]["replay"])


def test_bars_stay_in_their_lanes() -> None:
    found = bars(parse(page(many(20, 8), NOW)))
    assert len(found) > 20 * 8 * 5
    assert not [one for one in found if one[1] < 0 or one[1] + one[2] > 1.0001]
    assert {kind.split()[1] for kind, _, _ in found} >= {"compute", "waiting", "rebuild", "replay", "mark"}


def test_a_report_of_an_older_service_is_drawn_as_far_as_it_goes() -> None:
    one = {key: value for key, value in recovery().items() if key not in ("began", "timeline", "ranks")}
    shown = parse(page(report(one), NOW))
    (section,) = shown.all("section")
    assert [name for name, _, _ in bars(section)][:7] == [f"bar {name}" for name in one["phases"]]
    assert not section.all("table")


def test_pieces_follow_each_other() -> None:
    """Whatever spans overlap, and wherever they lie."""
    spans = [Span("fence", 0.1, 0.2), Span("rebuild", 0.2, 0.5), Span("restore", 0.9, 0.2), Span("replay", 1.3, 0.4)]
    lane = Lane(1, "rank 0", 0, computed=9.0, stopped=0.1, spans=spans)
    pieces = list(lane.pieces(-1.0, 2.0, 3.0))
    assert pieces[0].start == -1.0
    assert pieces[-1].end == 3.0
    assert [one.end for one in pieces[:-1]] == pytest.approx([one.start for one in pieces[1:]])
    names = ["compute", "fence", "rebuild", "waiting", "restore", "waiting", "replay", "compute"]
    assert [one.what for one in pieces] == names


def test_a_rank_that_never_came_back_waits_to_the_end() -> None:
    lane = Lane(1, "rank 0", 0, stopped=0.0, spans=[Span("fence", 0.0, 0.1)])
    assert [(one.what, one.end) for one in lane.pieces(0.0, 2.0, 2.0)] == [("fence", 0.1), ("waiting", 2.0)]


def test_times_of_recoveries_are_absolute() -> None:
    (one,) = recoveries(report(recovery(began=STARTED + 60)))
    assert (one.began, one.computing_since()) == (STARTED + 60, STARTED + 60 - 12.5)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0"), (4e-7, "0"), (1e-6, "1 us"), (0.0009994, "999 us"), (0.0009996, "1 ms"), (0.00412, "4.12 ms"),
        (0.0999, "99.9 ms"), (0.09999, "100 ms"), (0.9994, "999 ms"), (0.9996, "1 s"), (1.5, "1.5 s"), (59.4, "59.4 s"),
        (59.6, "1 min 00 s"), (125.2, "2 min 05 s"), (3599.7, "1 h 00 min"), (7260, "2 h 01 min"),
    ],
)  # fmt: skip
def test_durations_are_round(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize("last", [1e-6, 0.0031, 0.41, 1.0, 7.9, 8.0, 599.0, 86400.0])
def test_an_axis_has_a_few_round_marks(last: float) -> None:
    found = ticks(last)
    assert found[0] == 0
    assert 4 <= len(found) <= 9
    assert found[-1] <= last * (1 + 1e-9)
    assert re.fullmatch(r"[125]0*(?:e.*)?", f"{found[1]:e}".split("e")[0].replace(".", "").rstrip("0") or "1")


def test_an_axis_without_time_has_one_mark() -> None:
    assert ticks(0.0) == [0.0]


def test_clock_is_utc() -> None:
    assert clock(1790000000.25) == "2026-09-21 14:13:20.250 UTC"


def test_a_browser_shows_the_page(tmp_path: Path) -> None:
    """Chromium reads the same elements and texts as were written, and paints something."""
    file, text = tmp_path / "report.html", page(hostile(HOSTILE), NOW)
    file.write_text(text, encoding="utf-8")
    written, read = parse(text), parse(rendered(file, tmp_path / "profile"))
    tags = [one.tag for one in written.all()]
    assert [one.tag for one in read.all()] == tags
    assert read.all("main")[0].text() == written.all("main")[0].text()
    screenshot(file, tmp_path / "profile", tmp_path / "page.png", 1400, 1000)
    picture = (tmp_path / "page.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000, "an empty page is smaller"
