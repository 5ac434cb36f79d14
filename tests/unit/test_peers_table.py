"""bench/peers: how a run is judged, what a row says of all runs, and where it is entered."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from toolkit.tree import ROOT

sys.path.insert(0, str(ROOT / "bench"))

from peers import log, table
from peers.__main__ import goals

WANTED = {(rank, step) for rank in (0, 1) for step in range(4)}
HEALTHY = log.read("0 0 10 start 0\n0 1 11 start 0\n9 0 10 done aa\n9 1 11 done aa\n")
GOOD = log.Fault(0.05, 0.5, None, None, 0, 0, (1, 1), (), "identical")


def lines(*events: str) -> str:
    return "".join(f"{one}\n" for one in events)


def steps(rank: int, pid: int, when: float, *numbers: int) -> list[str]:
    return [f"{when + at * 0.1} {rank} {pid} step {number} 0x1p+1" for at, number in enumerate(numbers)]


def test_a_lost_worker_leaves_the_processes() -> None:
    both = [*steps(0, 10, 1, 0, 1, 2, 3), *steps(1, 11, 1, 0, 1, 2, 3)]
    text = lines("0 0 10 start 0", "0 1 11 start 0", *both, "2 0 10 done aa", "2 1 11 done aa")
    found = log.judged(log.read(text), HEALTHY, (1.15, 0), WANTED, "")
    assert (found.started, found.ended, found.outcome) == ((1, 1), (), "identical")
    assert (found.again, found.dropped, found.back_to, found.begun_s) == (0, 0, None, None)
    assert found.first_new_s == pytest.approx(0.05)


def test_a_survivor_that_ends_is_told_and_where_the_job_goes_on() -> None:
    first = [*steps(0, 10, 1, 0, 1, 2), *steps(1, 11, 1, 0, 1, 2)]
    second = [*steps(0, 20, 5, 1, 2, 3), *steps(1, 21, 5, 1, 2, 3)]
    started = ["0 0 10 start 0", "0 1 11 start 0", *first, "4 0 20 start 0", "4 1 21 start 0", *second]
    output = 'Traceback\n  File "/x/ddp.py", line 82, in _comm_hook\nAssertionError\nx.errors.ChildFailedError:\n'
    text = lines(*started, "9 0 20 done aa", "9 1 21 done aa")
    found = log.judged(log.read(text), HEALTHY, (2.0, 11), WANTED, output)
    assert (found.started, found.ended, found.again, found.back_to) == ((2, 2), (0,), 4, 1)
    assert (found.begun_s, found.first_new_s) == (2.0, pytest.approx(3.2))
    assert found.why == "AssertionError in _comm_hook, ddp.py"


def test_a_job_that_does_not_finish() -> None:
    text = lines("0 0 10 start 0", "0 1 11 start 0", *steps(0, 10, 1, 0, 1), *steps(1, 11, 1, 0, 1))
    found = log.judged(log.read(text), HEALTHY, (2.0, 11), WANTED, "Killed\n")
    assert (found.outcome, found.first_new_s, found.dropped, found.ended) == ("did not finish", None, 4, (0,))
    assert found.why == "without a word"


def test_other_weights_on_one_rank_differ() -> None:
    text = lines("0 0 10 start 0", "0 1 11 start 0", "2 0 10 done aa", "2 1 11 done ab")
    assert log.judged(log.read(text), HEALTHY, (1.0, 0), WANTED, "").outcome == "differ"


def test_steps_count_from_the_first_ones_on_until_the_fault() -> None:
    slow = [f"{when} 0 10 step {step} 0x1p+1" for step, when in enumerate(range(log.SKIP))]
    quick = steps(0, 10, 100, *range(log.SKIP, log.SKIP + 5))
    late = [f"200 0 10 step {log.SKIP + 5} 0x1p+1"]
    seen = log.read(lines(*slow, *quick, *late))
    assert log.step_time(seen, 150) == pytest.approx(0.1)
    assert log.step_time(log.read(lines(*slow))) is None


def row(survives: bool, *runs: log.Fault) -> table.Row:
    return table.Row("ours", "2.0", 3, survives, (0.04,) * len(runs), runs)


def test_low_and_high_stand_beside_the_median_where_they_differ() -> None:
    cells = row(True, GOOD, replace(GOOD, step_s=0.06, first_new_s=0.7), replace(GOOD, first_new_s=0.6)).cells()
    assert cells[2:6] == ["50.0 (50.0 to 60.0) ms; 1.25 (1.25 to 1.50) times", "0.60 (0.50 to 0.70) s; -",
                          "where it was", "0; 0"]  # fmt: skip
    assert cells[6:] == ["lives; 1, 1", "identical", "3"]


def test_a_promise_that_is_broken_fails_the_row() -> None:
    bad = replace(GOOD, ended=(0,), started=(2, 2), why="AssertionError", back_to=0, begun_s=2.0)
    broken = row(True, GOOD, bad, bad)
    assert broken.fails()
    assert broken.others() == "**fails**, 2 of 3: it ends (AssertionError); 2, 2 (2 of 3); 1, 1 (1 of 3)"
    promised_nothing = row(False, bad, bad)
    assert not promised_nothing.fails()
    assert promised_nothing.cells()[3:7] == ["0.50 s; 2.00 s", "step 0", "0; 0", "ends with it; 2, 2"]


def test_the_goal_is_of_rows_that_promise_it() -> None:
    ours = replace(row(True, GOOD), name="**jitc**", lines=0)
    killed = replace(row(False, replace(GOOD, ended=(0,))), name="jitc, the rank's process killed")
    assert list(goals([ours, killed]).values()) == [True]
    for bad in (replace(GOOD, dropped=1), replace(GOOD, outcome="differ"), replace(GOOD, ended=(0,))):
        assert list(goals([replace(ours, runs=(bad,)), killed]).values()) == [False]
    assert goals([row(True, GOOD)]) == {}


def test_a_run_that_does_not_finish_is_counted_and_in_no_other_figure() -> None:
    lost = log.Fault(None, None, None, None, 0, 8, (1, 1), (), "did not finish", "RuntimeError in connect, gloo.py")
    found = row(False, GOOD, lost)
    assert found.fails()
    assert found.weights() == "identical 1 of 2, did not finish 1 of 2 (RuntimeError in connect, gloo.py)"
    assert found.cells()[2:6] == ["50.0 ms; 1.25 times", "0.50 s; -", "where it was", "0; 0"]
    assert row(False, lost).cells()[2:6] == ["- ms; - times", "never", "-", "-; -"]


def test_rows_are_entered_between_the_marks_with_their_commit() -> None:
    page = (ROOT / "bench" / "README.md").read_text()
    found = table.entered(page, ["| new |"], "c0ffee1", "2020-01-02", 5)
    assert "`peers`, c0ffee1, 2020-01-02, 5 runs of each row" in found
    inside = found.split(table.BEGIN)[1].split(table.END)[0].strip().splitlines()
    assert len(inside) == 3 and inside[-1] == "| new |"
    assert found.split(table.END)[1] == page.split(table.END)[1]
    with pytest.raises(ValueError, match="marks"):
        table.entered("a page", [], "c0ffee1", "2020-01-02", 5)
    with pytest.raises(ValueError, match="0 lines with the commit"):
        table.entered(page.replace("`peers`,", "peers,"), [], "c0ffee1", "2020-01-02", 5)


def test_every_case_has_as_many_cells_as_the_head() -> None:
    page = (ROOT / "bench" / "README.md").read_text()
    head = page.split(table.BEGIN)[1].strip().splitlines()[0]
    assert head.count("|") == row(True, GOOD).line().count("|") == table.plain_line("2.0", [0.1]).count("|")
