"""`jitc report --html` and `--trace` of a real recovery: every rank has its lane, and the numbers are the report's."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from toolkit.job import Script
from toolkit.page import parse
from toolkit.service import BIN, Service, kill_at
from toolkit.trace import problems
from toolkit.workplace import Workplace

TRAIN = Script("train_gpt.py", ("--steps", "6"), ranks=2)


def jitc(service: Service, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(BIN / "jitc"), *words, "--socket", str(service.socket)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=service.env)


def check_times(told: dict[str, Any]) -> None:
    """The lost rank was rebuilt while the other one waited; both were restored, resumed, and replayed."""
    assert sum(one["seconds"] for one in told["timeline"]) == told["seconds"] or abs(
        sum(one["seconds"] for one in told["timeline"]) - told["seconds"]
    ) < 1e-4  # fmt: skip
    for rank in told["ranks"]:
        phases = {one["phase"] for one in rank["spans"]}
        assert phases >= {"fence", "restore", "resume", "replay"}, rank
        assert ("rebuild" in phases) == rank["lost"], rank
        assert 0 <= rank["waited"] <= told["seconds"]
        assert rank["computed"] > 0
        assert all(0 <= one["at"] <= one["at"] + one["seconds"] <= told["seconds"] + 1e-3 for one in rank["spans"])
    assert [(one["rank"], one["gpu"], one["lost"]) for one in told["ranks"]] == [(0, 0, False), (1, 1, True)]


def test_a_recovery_is_drawn(workplace: Workplace, tmp_path: Path) -> None:
    service = workplace.service(2)
    service.inject(kill_at(2, "backward"), 1)
    workplace.run(TRAIN, service)
    [told] = service.survived(1)
    check_times(told)
    page, trace = tmp_path / "report.html", tmp_path / "trace.json"
    done = jitc(service, "report", "--html", str(page), "--trace", str(trace))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (section,) = parse(page.read_text()).all("section")
    names = [one.text() for one in section.all(class_="name")]
    ranks = [one["name"] for one in told["ranks"]]
    assert sorted(ranks) == sorted(told["sessions"])
    assert names[:3] == ["recovery", *ranks]
    document = json.loads(trace.read_text())
    assert problems(document) == []
    lines = {one["args"]["name"] for one in document["traceEvents"] if one["name"] == "thread_name"}
    assert lines == {"recovery", *(f"{name}, GPU {gpu}" for gpu, name in enumerate(ranks))}


def test_what_cannot_be_written_is_one_line(workplace: Workplace, tmp_path: Path) -> None:
    service = workplace.service(1)
    missing = jitc(service, "report", "--html", str(tmp_path / "none" / "report.html"))
    both = jitc(service, "report", "--html", "-", "--json")
    full = jitc(service, "report", "--trace", "/dev/full")
    assert (missing.returncode, both.returncode, full.returncode) == (2, 2, 1)
    for one in (missing, both, full):
        assert one.stdout == ""
        assert len(one.stderr.splitlines()) == 1, one.stderr
    assert jitc(service, "report", "--html", "-").stdout.startswith("<!doctype html>")
    assert json.loads(jitc(service, "report", "--trace", "-").stdout)["traceEvents"] == []
