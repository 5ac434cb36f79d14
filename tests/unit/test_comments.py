"""Comments over what is declared begin as sentences do: a function's with its verb, a type's with a noun."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from toolkit.tree import ROOT, tracked

PRODUCT = ("client_shim", "interpose", "protos", "proxy")
#: Words that begin a sentence without a subject, or with one that was named elsewhere.
NO_BEGINNING = {"Of", "As", "It", "They", "That", "Those", "None", "Nobody", "On", "So", "What", "How"}


def comments(path: Path) -> Iterator[str]:
    """Returns the first line of each comment over a declaration."""
    before = ""
    for line in path.read_text().splitlines():
        if (found := re.match(r"\s*/// (.*)", line)) and not before.lstrip().startswith("///"):
            yield found[1]
        before = line


def docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
            yield text.splitlines()[0]


@pytest.mark.parametrize(("suffixes", "read"), [((".h", ".cpp"), comments), ((".py",), docstrings)])
def test_comments_begin_with_a_verb_or_a_noun(suffixes: tuple[str, ...], read: Callable[[Path], Iterator[str]]) -> None:
    files = [path for path in tracked(*(f"{top}/*{one}" for top in PRODUCT for one in suffixes))]
    said = [(path, line) for path in files if not path.name.startswith("generated_") for line in read(path)]
    assert len(said) > 1000
    wrong = [
        f"{path.relative_to(ROOT)}: {line}" for path, line in said if line.split()[0].rstrip(",.:;") in NO_BEGINNING
    ]
    assert not wrong, "\n".join(wrong)
