"""The mutants of tests/mutants can be made: what they change is there, and so are the tests that must notice it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mutants import command, native, overlay
from mutants.catalogue import MUTANTS
from mutants.mutant import Mutant, Stale
from toolkit.tree import ROOT, tracked


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.name)
def test_its_text_is_there_once(mutant: Mutant) -> None:
    content = mutant.content()
    if not native.is_native(mutant.file):
        compile(content, mutant.file, "exec")
    assert mutant.text != mutant.instead and mutant.says


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.name)
def test_its_tests_are_there(mutant: Mutant) -> None:
    assert mutant.tests
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert ROOT / file in tracked(file), f"{file} is not there"
        assert re.search(rf"^def {re.escape(name.partition('[')[0])}\(", (ROOT / file).read_text(), re.MULTILINE), test


def test_names_and_files() -> None:
    assert len({one.name for one in MUTANTS}) == len(MUTANTS) > 80
    for mutant in MUTANTS:
        assert any(mutant.file.startswith(f"{place}/") for place in overlay.PACKAGES.values()), mutant.file


def test_a_text_that_has_gone_is_said() -> None:
    gone = Mutant("gone", "nothing", "proxy/node/gpus.py", "this text is nowhere", "", ("tests",))
    with pytest.raises(Stale, match="0 times"):
        gone.content()
    assert command.run(gone).outcome == command.STALE


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("assert LEAST_SECONDS == 5.0", command.FOUND),
        ("assert LEAST_SECONDS < 100", command.SURVIVES),
        ("assert LEAST_SECONDS == 5.0\n\ndef test_other() -> None:\n    undefined", command.FOUND),
    ],
)
def test_it_is_found_when_its_test_fails(body: str, outcome: str, tmp_path: Path) -> None:
    """A process of its own sees the changed file, and nothing in the tree is touched."""
    file, text = "proxy/health/gaps.py", "LEAST_SECONDS = 5.0"
    before = (ROOT / file).read_text()
    test = tmp_path / "test_limits_of_gaps.py"
    test.write_text(f"from jitc.proxy.health.gaps import LEAST_SECONDS\n\ndef test_it() -> None:\n    {body}\n")
    made = Mutant("gaps", "nothing", file, text, "LEAST_SECONDS = 6.0", (f"{test}::test_it",))
    assert command.run(made).outcome == outcome
    assert (ROOT / file).read_text() == before


def test_a_run_that_says_nothing_finds_nothing(tmp_path: Path) -> None:
    """No such test; a file that is no Python with it."""
    file, text = "proxy/health/gaps.py", "LEAST_SECONDS = 5.0"
    for instead, test in (("LEAST_SECONDS = 6.0", str(tmp_path / "test_nowhere.py")), ("LEAST_SECONDS = ", "tests")):
        assert command.run(Mutant("gaps", "nothing", file, text, instead, (test,))).outcome == command.BROKEN


def test_patterns(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--only", "nobody*"]) == command.WRONG_USE
    assert command.main(["--only", "classes-*", "--list"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == sum(one.name.startswith("classes-") for one in MUTANTS) > 3
    assert command.chosen(["proxy/keeper/log.py"]) == [one for one in MUTANTS if one.file == "proxy/keeper/log.py"]
