"""Jobs of several users in one answer: two with one name are told apart wherever a job is named, but in JSON."""

from __future__ import annotations

import copy
from typing import Any

from rich.console import Console
from toolkit.documents import example

from jitc.proxy.commands.questions import text
from jitc.proxy.commands.questions.users import named, several_users, with_users
from jitc.proxy.commands.terminal import recoveries, tables
from jitc.proxy.commands.timeline.page import page
from jitc.proxy.commands.timeline.trace import trace

BOTH = ("run-7 of user ann", "run-7 of user bob")


def of_two_users(command: str) -> dict[str, Any]:
    """The page's example of an answer, and each entry of its lists once more as BOB's."""
    found: dict[str, Any] = example(command)
    inside, kinds = (found["gpus"][0], ["sessions"]) if "gpus" in found else (found, list(found))
    for kind in kinds:
        inside[kind] += [copy.deepcopy(one) | {"user": "bob"} for one in inside[kind]]
    return found


def drawn(picture: Any) -> str:
    console = Console(width=200, height=50, record=True, force_terminal=True, color_system=None)
    with console.capture() as shown:
        console.print(picture)
    return shown.get()


def test_status() -> None:
    document = of_two_users("jitc status --json")
    lines = text.status(document).splitlines()
    assert [line.split("  ")[3] for line in lines if line.startswith("    pid")] == [f"job {one}" for one in BOTH]
    shown = drawn(tables.status(document))
    assert all(f"job {one}\n" in shown.replace(" \n", "\n") for one in BOTH)
    assert f"{BOTH[0]}: rank 0; {BOTH[1]}: rank 0" in " ".join(shown.split())


def test_report() -> None:
    document = of_two_users("jitc report --json")
    told = text.report(document)
    for one in BOTH:
        assert f"job {one}, GPU 1: worker-death" in told and f"job {one}: replicas stopped" in told
        assert f"race in job {one}, rank 0" in told
    assert "validation of user ann on GPU 0, 1" in told and "validation of user bob on GPU 0, 1" in told
    shown = " ".join(drawn(recoveries.report(document)).split())
    assert all(one in shown for one in (*BOTH, "validation of user bob on GPU 0, 1"))


def test_pictures_have_a_row_for_each() -> None:
    """Also where their sessions have the same numbers, which are each user's own."""
    document = with_users(of_two_users("jitc report --json"))
    made = trace(document)
    names = [one["args"]["name"] for one in made["traceEvents"] if one["name"] == "process_name"]
    assert [f"job {one}" for one in BOTH] == [one for one in names if "user" in one]
    starts = {one["ts"] for one in made["traceEvents"] if one["name"].startswith("recovery ")}
    assert len(starts) == 1, "they happened at the same time, and hold each other up in no line"
    drawn_page = page(document, 1790000001.0)
    assert all(f"job {one}" in drawn_page for one in BOTH)


def test_one_user_s_answer_is_as_it_was() -> None:
    for command, form in (("jitc status --json", text.status), ("jitc report --json", text.report)):
        document = example(command)
        assert not several_users(document) and with_users(document) == document
        assert "user" not in form(document)


def test_events_without_a_job_s_name_or_user() -> None:
    """A race whose rank was not known, and reports of an older service."""
    assert named({"job": "", "user": "ann"})["job"] == "of user ann"
    assert named({"job": "run-7"})["job"] == "run-7"
    assert not several_users({"recoveries": [{"job": "a"}, {"job": "a", "user": "ann"}]})
