"""Without a fault a job computes what the same script computes on cpu with gloo."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from toolkit.job import Script
from toolkit.jobs import COMPARABLE
from toolkit.record import Record, assert_close

RELATIVE = 1e-5


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in ("gpt", "cnn") else pytest.mark.slow) for name in COMPARABLE]
)
def test_losses_equal_those_of_cpu(name: str, reference: Callable[[Script, str], list[Record]]) -> None:
    script = COMPARABLE[name]
    assert_close(reference(script, "cuda"), reference(script, "cpu"), RELATIVE)
