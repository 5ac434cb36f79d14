"""The tables of `jitc status`: all of the plain text is there, at any width, whoever chose the names."""

from __future__ import annotations

import re

import pytest
from made_status import WIDTHS, busy, drawn, hostile_status, without_codes, words

from jitc.proxy.commands.questions import text
from jitc.proxy.commands.terminal.picture import Picture
from jitc.proxy.commands.terminal.tables import status

EVIL = "job\x1b[2J\x1b]0;title\x07\nforged\r\u202e[bold red]x[/] 漢字 :smile:"


@pytest.mark.parametrize("width", WIDTHS)
def test_all_facts_are_there(width: int) -> None:
    lines = drawn(status(busy()), width)
    missing = words(text.status(busy())) - words(" ".join(lines))
    assert not missing - {"pid", "worker", "ops", "no"}, missing  # heads of columns that have left say these
    whole = " ".join(" ".join(lines).split())
    for fact in ("serves", "boundary", "waits for a communicator of 4 ranks: rank 2, 3 missing", "served on GPU 2",
                 "takes turns at the GPU (left it 3 times, 0.2 s of moving, not on it now)", "no rank"):  # fmt: skip
        assert fact in whole


def test_eighty_columns_have_all_columns() -> None:
    lines = drawn(status(busy()), 80)
    assert lines[0] == "shuffled with seed 7"
    assert lines[1].split() == ["GPU", "device", "state", "memory", "recoveries", "spare", "serves"]
    assert lines[3].split() == ["0", "software", "ready", "12.0", "MiB", "of", "4.0", "GiB", "1", "run-7:", "rank", "0"]
    at = lines.index("job run-7")
    heads = ["rank", "pid", "GPU", "state", "boundary", "copies", "journal", "ops", "worker"]
    assert lines[at + 1].split() == heads
    assert lines[at + 3].split()[:5] == ["0", "of", "2", "4800", "0"]
    assert lines[at + 4] == "   reserve 20"
    assert lines[-1] == "copies of device memory  4.0 MiB of 12.0 GiB"


def test_the_ranks_that_a_gpu_serves() -> None:
    """A session is at the GPU that serves it, which is not always its own."""
    lines = drawn(status(busy()), 120)
    served = {one.split()[0]: re.split(r" {2,}", one.strip())[-1] for one in lines[3:6]}
    assert served["0"] == "run-7: rank 0"
    assert served["1"] == "12"  # none
    assert served["2"] == "run-7: rank 1; alone: pid 4999"


def test_a_wide_terminal_has_a_column_for_notes() -> None:
    lines = drawn(status(busy()), 160)
    heads = [one for one in lines if one.startswith("rank")]
    assert all(one.split()[-1] == "notes" for one in heads) and len(heads) == 2
    assert not [one for one in lines if one.startswith("   reserve")]
    narrow = [one for one in drawn(status(busy()), 40) if one.startswith("rank")]
    assert all(one.split() == ["rank", "pid", "GPU", "state", "boundary"] for one in narrow)


@pytest.mark.parametrize("width", [10, *WIDTHS])
@pytest.mark.parametrize("colour", [False, True])
def test_names_neither_steer_the_terminal_nor_are_read_as_markup(width: int, colour: bool) -> None:
    lines = drawn(status(hostile_status(EVIL)), width, colour)
    assert all(without_codes(one).isprintable() for one in lines)
    whole = "".join("".join(map(without_codes, lines)).split())
    for part in (r"\x1b[2J\x1b]0;title\x07\nforged\r\u202e", "[boldred]x[/]漢字:smile:"):
        assert part in whole or width == 10


def test_colours_of_states() -> None:
    lines = drawn(status(busy()), 80, colour=True)
    assert "\x1b[32mready" in lines[3] and "\x1b[33mrecovering" in lines[4]
    assert not [one for one in drawn(status(busy()), 80) if "\x1b" in one]


def test_a_node_without_anything() -> None:
    empty = {"shuffle": 0, "gpus": [], "copies": {"held_bytes": 0, "limit_bytes": 1024}}
    assert drawn(status(empty), 40) == ["copies of device memory  0 B of 1.0 KiB"]


def test_a_picture_is_not_higher_than_the_terminal() -> None:
    document = busy()
    document["gpus"] = document["gpus"] * 30
    lines = drawn(Picture(document, "the service does not answer"), 80)
    assert lines[0] == "the service does not answer" and len(lines) == 50
    assert re.fullmatch(r"\.\.\. and \d+ more lines", lines[-1])
    whole = drawn(Picture(document).whole(), 80)
    assert whole[:48] == lines[1:49] and len(whole) == 48 + int(lines[-1].split()[2])
