"""One table of faults: the document, the headers and the commands say the same."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from jitc.ops import faults_generator
from jitc.ops.faults import CARRIERS, FAULTS, KINDS, PHASES

ROOT = Path(__file__).resolve().parents[3]


def test_kinds_and_places_are_those_that_users_have_in_scripts() -> None:
    assert KINDS == (
        "kill-worker", "crash-worker", "stop-worker", "sticky-error", "illegal-access", "endless-kernel",
        "hung-collective", "cut-link", "slow-link", "xid", "lose-gpu",
    )  # fmt: skip
    assert PHASES == ("forward", "backward", "optimizer", "collective", "copy", "boundary")


def test_each_kind_has_one_who_carries_it_out() -> None:
    for one in FAULTS:
        assert one.carrier in CARRIERS
        assert bool(one.signal) == (one.carrier == "signal")
        assert not one.signal or signal.Signals[one.signal]


def test_the_document_has_a_row_for_each() -> None:
    text = (ROOT / "docs/cli.md").read_text()
    assert faults_generator.document(text) == text
    table = text.split(faults_generator.BEGIN)[1].split(faults_generator.END)[0]
    assert tuple(re.findall(r"^\| `([^`]+)`", table, re.MULTILINE)) == KINDS


def test_a_document_without_a_place_for_them_is_an_error() -> None:
    with pytest.raises(ValueError, match="needs one"):
        faults_generator.document("no table here")
