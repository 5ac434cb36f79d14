"""bench/faults/second_loss.py: the window is read out of a report; texts for the docs name what was measured."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from toolkit.tree import ROOT

sys.path.insert(0, str(ROOT / "bench"))

from faults import second_loss


def report(*spans: tuple[str, float, float], notes: tuple[str, ...] = ()) -> dict[str, Any]:
    survivor = [{"phase": phase, "at": at, "seconds": seconds} for phase, at, seconds in spans]
    lost = [{"phase": "rebuild", "at": 0.0, "seconds": 99.0}]
    ranks = [{"lost": False, "spans": survivor}, {"lost": True, "spans": lost}]
    return {"began": 1000.5, "ranks": ranks, "notes": list(notes)}


def test_the_window_ends_with_the_survivors_copies() -> None:
    one = report(("fence", 0.0, 0.01), ("rebuild", 0.02, 0.25), ("restore", 0.3, 1.0))
    assert second_loss.window(one, 1000.25) == pytest.approx(0.52)
    assert second_loss.window(report(("restore", 0.3, 1.0)), 1000.25) == 0


def test_a_reserve_is_known_by_its_note() -> None:
    why = f"1 block is held by no other rank: all ranks go back to boundary 7, {second_loss.RESERVE}"
    assert second_loss.went_to_reserve(report(notes=("a transfer failed", why)))
    assert not second_loss.went_to_reserve(report(notes=("a transfer failed",)))


def test_the_note_is_what_recoveries_say() -> None:
    assert second_loss.RESERVE in (ROOT / "proxy" / "recovery" / "restore" / "restore.py").read_text()
    assert second_loss.COPIED in (ROOT / "proxy" / "recovery" / "restore" / "rescue.py").read_text()


def test_the_texts_name_sizes_kills_and_commit() -> None:
    windows = {"53 MB": (0.0534, 0.0812), "815 MB": (0.5, 0.749)}
    figures = {size: {"window": {"median": median, "high": high}} for size, (median, high) in windows.items()}
    row, sentence = second_loss.texts(figures, 10, "c0ffee1", "2020-01-02")
    assert row.startswith("| ") and row.count(" | ") == 2
    assert "`faults/second_loss.py`, c0ffee1, 2020-01-02 |" in row
    assert row.endswith("| median 0.05 and 0.50 s, at most 0.08 and 0.75 s | none |")
    assert "53 MB and 815 MB of state, 10 kills each" in row
    assert "there 0.05 and 0.50 s pass (medians; at most 0.08 and 0.75 s) with 53 MB and 815 MB of state" in sentence
    assert "c0ffee1" in sentence
