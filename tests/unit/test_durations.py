"""The table of the slowest tests: from results, with shares of the whole."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from toolkit.tree import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import durations

RESULTS = """<testsuites><testsuite>
<testcase classname="tests.a" name="one" time="3"/><testcase classname="tests.b" name="two" time="5.5"/>
<testcase classname="tests.a" name="three" time="1.5"/></testsuite></testsuites>"""


def test_slowest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "results.xml").write_text(RESULTS)
    monkeypatch.setattr(sys, "argv", ["durations.py", str(tmp_path / "results.xml"), "--most", "2"])
    assert durations.main() == 0
    assert capsys.readouterr().out.splitlines() == [
        "3 tests, 10 s in all", "",
        "seconds  share  test", "    5.5  55.0%  tests.b::two", "    3.0  30.0%  tests.a::one", "",
        "seconds  share  file", "    5.5  55.0%  tests.b (1)", "    4.5  45.0%  tests.a (2)",
    ]  # fmt: skip


def test_without_results(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["durations.py"])
    assert durations.main() == 1
    assert "run `make test` first" in capsys.readouterr().err
