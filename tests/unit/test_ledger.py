"""The ledger: every claim names tests that exist, and its commits are entered from results, not by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from toolkit.tree import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import ledger

MAKEFILE = (ROOT / "Makefile").read_text()
OLD = "abcdef1 2020-01-01"
HEAD = "| claim | software device | NVIDIA GPU | last run |\n|---|---|---|---|\n"
ROWS = (
    "| one | `tests/unit/test_layers.py` | not run | not recorded |",
    "| two | the same; `test_words.py` | not run | abcdef1 2020-01-01 |",
    "| three | `make demo` | not run | not recorded |",
    "| slow | `tests/end_to_end/test_soak.py` | not run | abcdef1 2020-01-01 |",
    "| both | `make soak SEED=7`, `tests/unit/test_layers.py` | not run | abcdef1 2020-01-01 |",
)
RESULTS = """<testsuites><testsuite name="{commit}" timestamp="2026-01-02T03:04:05.6+00:00">
<testcase classname="tests.unit.test_layers" name="a"/><testcase classname="tests.unit.test_layers" name="b"/>
<testcase classname="tests.unit.test_words" name="c">{words}</testcase>
<testcase classname="tests.end_to_end.test_soak" name="d"/></testsuite></testsuites>"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "ledger.md"
    path.write_text(HEAD + "\n".join(ROWS) + "\n\n| other | table |\n")
    monkeypatch.setattr(ledger, "LEDGER", path)
    return path


def enter(monkeypatch: pytest.MonkeyPatch, folder: Path, words: str = "", commit: str = "1234567", *more: str) -> int:
    (folder / "results.xml").write_text(RESULTS.format(words=words, commit=commit))
    monkeypatch.setattr(sys, "argv", ["ledger.py", str(folder / "results.xml"), *more])
    return ledger.main()


def cells(page: Path) -> list[str]:
    return [line.split(" | ")[-1].removesuffix(" |") for line in page.read_text().splitlines()[2 : 2 + len(ROWS)]]


def test_every_claim_names_tests_that_exist() -> None:
    inside, seen, named = False, 0, list[str]()
    for line in (ROOT / "docs" / "ledger.md").read_text().splitlines():
        inside = line.startswith("| claim |") or (inside and line.startswith("|"))
        if not inside or line.startswith(("| claim |", "|---")):
            continue
        row, seen = line.removesuffix(" |").split(" | "), seen + 1
        assert len(row) == 4 and ledger.RUN.fullmatch(row[3]), line
        named = [*(named if "the same" in row[1] else []), *ledger.names(row[1])]
        assert named, line
        assert ("; slow: " in row[3]) == ledger.has_slow(named), (
            f"what its slow tests show has a date of its own: {line}"
        )
        for name in named:
            command = ledger.COMMAND.match(name)
            assert f"\n{command['target']}:" in MAKEFILE if command else ledger.files(name), (name, line)
    assert seen > 40


def test_rows_whose_tests_passed_get_the_commit(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert enter(monkeypatch, tmp_path) == 0
    now = "1234567 2026-01-02"
    assert cells(page) == [now, now, "not recorded", f"{now}; slow: not recorded", OLD]
    assert page.read_text().endswith("| other | table |\n")
    assert enter(monkeypatch, tmp_path, "", "7654321", "--slow") == 0
    later = "7654321 2026-01-02"
    assert cells(page) == [later, later, "not recorded", f"{later}; slow: {later}", OLD]


@pytest.mark.parametrize("words", ["<failure/>", "<error/>", "<skipped/>"])
def test_other_rows_stay(words: str, page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert enter(monkeypatch, tmp_path, words) == 0
    assert cells(page)[:2] == ["1234567 2026-01-02", "abcdef1 2020-01-01"]


@pytest.mark.parametrize("commit", ["1234567-dirty", "none", "pytest"])
def test_results_without_a_commit_are_refused(
    commit: str, page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = page.read_text()
    assert enter(monkeypatch, tmp_path, "", commit) == 1
    assert page.read_text() == before
    assert "commit first" in capsys.readouterr().err


def test_several_runs_of_one_commit_are_one(tmp_path: Path) -> None:
    paths = [tmp_path / "parts.xml", tmp_path / "jobs.xml"]
    for path, words in zip(paths, ("", "<failure/>"), strict=True):
        path.write_text(RESULTS.format(words=words, commit="1234567"))
    commit, _, passed = ledger.results_of_all(paths)
    assert commit == "1234567"
    assert not passed["tests/unit/test_words.py"] and passed["tests/unit/test_layers.py"]
    paths[1].write_text(RESULTS.format(words="", commit="7654321"))
    for several in (paths, []):
        with pytest.raises(ledger.Refused, match="one commit"):
            ledger.results_of_all(several)


def test_a_command_is_entered_by_its_own_run_alone(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a row names tests beside it, which have not been run now."""
    monkeypatch.setattr(ledger, "_checked_out", lambda: "c0ffee1")
    monkeypatch.setattr(sys, "argv", ["ledger.py", "--ran", "make demo"])
    assert ledger.main() == 0
    assert cells(page)[2].startswith("c0ffee1 ") and cells(page)[4] == OLD
    assert ledger.names('`make soak SOAK="--ways faults"`, `make test`, `make test-all`') == [
        'make soak SOAK="--ways faults"'
    ]
