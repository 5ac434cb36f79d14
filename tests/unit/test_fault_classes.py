"""bench/faults/classes.py enters its figures where docs/guarantees.md has rows for them, and nowhere else."""

from __future__ import annotations

import sys

import pytest
from toolkit.tree import ROOT

sys.path.insert(0, str(ROOT / "bench"))

from faults import classes


def test_every_class_has_its_row() -> None:
    page = classes.PAGE.read_text()
    found = classes.entered(page, dict.fromkeys(classes.ROWS, "1.25"), "c0ffee1", "2020-01-02")
    assert "They are of c0ffee1, 2020-01-02." in found
    changed = [new for old, new in zip(page.split("\n"), found.split("\n"), strict=True) if old != new]
    rows = [line.split(" | ") for line in changed if line.startswith("| ")]
    assert len(rows) == len(classes.ROWS) == len(changed) - 1
    assert {(len(one), one[2]) for one in rows} == {(4, "1.25")}


def test_a_row_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="0 rows begin with 'a meteorite'"):
        classes.entered(classes.PAGE.read_text(), {"a meteorite": "1"}, "c0ffee1", "2020-01-02")
    with pytest.raises(ValueError, match="lines with the commit"):
        classes.entered("| a row | | |", {}, "c0ffee1", "2020-01-02")


def test_the_longest_case_counts() -> None:
    assert classes._of({"test_a[x]": 1.0, "test_a[y]": 2.06, "test_b": 9.0}, "test_a", 1) == "2.1"
