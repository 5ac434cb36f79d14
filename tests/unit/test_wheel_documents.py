"""What documents say of the wheel: which extras it has, for which releases of PyTorch it has parts, and in how many."""

from __future__ import annotations

import re
import runpy
import sys

from toolkit.tree import ROOT, tracked
from toolkit.wheel import OF_PYTORCH, PLATFORM

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TABLE = runpy.run_path(str(ROOT / "scripts" / "wheel" / "releases.py"))
RELEASES, PARTS = TABLE["RELEASES"], TABLE["PARTS"]
WORDS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
INSTALLATION = (ROOT / "docs" / "installation.md").read_text()
README = (ROOT / "README.md").read_text()


def number(word: str) -> int:
    return int(word) if word.isdecimal() else 10 + WORDS.index(word)


def test_extras_that_are_named_are_there() -> None:
    """In documents, messages and commands."""
    named: dict[str, set[str]] = {}
    for path in tracked("*.md", "*.py", "*.toml", "*.mk", "*.sh", "*/Dockerfile*", "*.Debian"):
        for extras in re.findall(r"\bjitc\[([\w, -]+)\]", path.read_text()):
            for one in extras.split(","):
                named.setdefault(one.strip(), set()).add(str(path.relative_to(ROOT)))
    there = set(PROJECT["optional-dependencies"])
    assert {one: files for one, files in named.items() if one not in there} == {}
    assert there - set(named) == {"dev"}, "an extra that no document names"


def test_auditwheel_is_called_as_the_tests_call_it() -> None:
    excludes = " ".join(f"--exclude '{one}'" for one in OF_PYTORCH)
    assert f"    auditwheel repair --plat {PLATFORM} {excludes} " in INSTALLATION


def test_the_releases_are_those_of_the_table() -> None:
    assert f"from {RELEASES[0]} to {RELEASES[-1]}" in " ".join(INSTALLATION.split())
    oldest, newest = (one.rpartition(".")[0] for one in (RELEASES[0], RELEASES[-1]))
    assert f"each release of PyTorch from {oldest} to {newest}" in " ".join(README.split())
    (torch,) = [one for one in PROJECT["optional-dependencies"]["torch"] if one.startswith("torch")]
    minor = int(newest.partition(".")[2])
    assert torch == f"torch>={oldest},<2.{minor + 1}"


def test_numbers_of_releases_and_parts_are_those_of_the_table() -> None:
    counts = re.findall(r"(\w+)\s+releases\s+in\s+(\w+)\s+parts", INSTALLATION)
    assert [tuple(map(number, one)) for one in counts] == [(len(RELEASES), PARTS)]
    builds = re.findall(r"for\s+(\w+)\s+builds\s+of\s+PyTorch", README)
    assert [number(one) for one in builds if one in WORDS or one.isdecimal()] == [PARTS]
