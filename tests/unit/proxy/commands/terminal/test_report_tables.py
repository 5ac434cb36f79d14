"""The table of `jitc report`, and the verdict of `jitc validate`: all of the plain text is there, at any width."""

from __future__ import annotations

import time
from typing import Any

import pytest
from made_report import examples, hostile, many, recovery, report
from made_status import WIDTHS, drawn, without_codes, words

from jitc.proxy.commands.questions import text
from jitc.proxy.commands.terminal import recoveries

EVIL = "job\x1b[2J\x1b]0;title\x07\nforged\r\u202e[bold red]x[/] 漢字 :smile:"
LATER = 1_790_000_060.0 + 3 * 86_400


def eventful() -> dict[str, Any]:
    """All that a report can have."""
    differences = {"results": 3, "largest": 2e-6, "bound": 0.01}
    some = (
        recovery(),
        recovery(outcome="recovered, not bit-identical", differences=differences, culprits=["rank 1 (pid 4801)"]),
        recovery(outcome="not proven: ranks differ", notes=["NCCL did not work"], gpus=[0, 1], job="another"),
        recovery(LATER, outcome="given up: no boundary", decision="none", boundary=None, gpus=[], gpu=None),
    )
    return report(*some, **{kind: examples(kind) for kind in ("validations", "divergences", "races")})


@pytest.mark.parametrize("width", WIDTHS)
def test_all_facts_of_a_report_are_there(width: int) -> None:
    lines = drawn(recoveries.report(eventful()), width)
    missing = words(text.report(eventful())) - words(" ".join(lines))
    assert not missing - {"1.", "2.", "3.", "4.", "to"}, missing


def test_eighty_columns_have_the_usual_columns() -> None:
    one = recovery()
    lines = drawn(recoveries.report(report(one)), 80)
    at = time.localtime(one["time"])
    assert lines[0] == time.strftime("recoveries of %Y-%m-%d", at)
    assert lines[1].split() == ["#", "time", "job", "GPU", "cause", "decision", "seconds", "outcome"]
    assert lines[3].split() == [
        "1", time.strftime("%H:%M:%S", at), "run-7", "1", "worker-death", "roll-back", "to", "36",
        f"{one['seconds']:.3f}", "recovered",
    ]  # fmt: skip
    assert lines[4] == "   restored 16.0 MiB (8.0 MiB from peers by nccl)"
    assert lines[5].startswith("   detect ")
    assert "no recoveries so far" in drawn(recoveries.report(report()), 80)


def test_numbers_are_those_of_the_plain_text_and_days_have_tables() -> None:
    lines = drawn(recoveries.report(eventful()), 120)
    assert sum(one.startswith("recoveries of") for one in lines) == 2
    numbers = [one.split()[0] for one in lines if one[:1].isdigit()]
    assert numbers == ["1", "2", "3", "4"]
    wide = drawn(recoveries.report(many(30, 2)), 80)
    assert [int(one.split()[0]) for one in wide if one[:2].strip().isdigit()] == list(range(1, 31))


def test_colours_of_outcomes() -> None:
    lines = drawn(recoveries.report(eventful()), 80, colour=True)
    for coloured in ("\x1b[32mrecovered", "\x1b[33mrecovered", "\x1b[31mnot proven", "\x1b[31mgiven up"):
        assert any(coloured in one for one in lines), coloured


@pytest.mark.parametrize("width", [10, *WIDTHS])
@pytest.mark.parametrize("colour", [False, True])
def test_texts_neither_steer_the_terminal_nor_are_read_as_markup(width: int, colour: bool) -> None:
    document = hostile(EVIL)
    pictures = (
        recoveries.report(document), recoveries.single(1, document["recoveries"][0]),
        recoveries.validation(document["validations"][0]),
    )  # fmt: skip
    for picture in pictures:
        lines = drawn(picture, width, colour)
        assert all(without_codes(one).isprintable() for one in lines)
        whole = "".join("".join(map(without_codes, lines)).split())
        assert "[boldred]x[/]" in whole or width == 10


@pytest.mark.parametrize("width", WIDTHS)
def test_one_recovery_and_a_verdict_as_lines(width: int) -> None:
    for number, one in enumerate(eventful()["recoveries"], 1):
        whole = " ".join(" ".join(drawn(recoveries.single(number, one), width)).split())
        at = time.strftime("%H:%M:%S", time.localtime(one["time"]))
        assert whole == f"{at} {' '.join(text.recovery(number, one).split())}"
    (verdict,) = examples("validations")
    whole = " ".join(drawn(recoveries.validation(verdict), width)).split()
    assert whole == text.validation(verdict).split()
    (first, *_) = drawn(recoveries.validation(verdict | {"outcome": "identical"}), 120, colour=True)
    assert "\x1b[32midentical\x1b" in first


def test_a_report_of_an_older_service() -> None:
    """Its recoveries have no proof, and one GPU."""
    one = {name: value for name, value in recovery().items() if name not in ("proof", "gpus", "culprits")}
    lines = drawn(recoveries.report(report(one)), 80)
    assert lines[3].split()[3] == "1" and not [line for line in lines if "proven" in line]
