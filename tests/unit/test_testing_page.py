"""docs/testing.md quotes tests: they are there, word for word, and so are the helpers that it names."""

from __future__ import annotations

import re

import pytest
from toolkit.tree import ROOT, tracked

PAGE = (ROOT / "docs/testing.md").read_text()
#: Language, file, what is quoted of it.
QUOTES = re.findall(r"^```(?:python|cpp)\n(?:#|//) (\S+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
LINES = 12


@pytest.mark.parametrize(("file", "text"), QUOTES, ids=[file.rpartition("/")[2] for file, _ in QUOTES])
def test_what_is_quoted_is_there(file: str, text: str) -> None:
    assert text in (ROOT / file).read_text()
    assert len(text.splitlines()) <= LINES


def test_every_quote_is_looked_at() -> None:
    assert len(QUOTES) == PAGE.count("```") // 2 > 10


def test_every_rig_is_named() -> None:
    rigs = {path.name for path in tracked("tests/unit/*_rig.py")} - {"page_rig.py"}  # of one file's tests
    assert len(rigs) > 8
    assert not {one for one in rigs if f"`{one}`" not in PAGE}
