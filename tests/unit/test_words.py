"""What comments, heads and documents name is there: files that moved are not left behind in the prose."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from toolkit.tree import ROOT, tracked

#: Files of other projects, and of users.
FOREIGN = {
    "cuda.h", "nccl.h", "cudnn.h", "cublasLt.h", "cuda_runtime.h", "xxhash.h", "train.py",
}  # fmt: skip
NAMED = re.compile(r"(?<![\w/.<*{}$-])(\w[\w/.-]*\.(?:py|cpp|h|cu|proto|cmake|mk|def))\b(?!\()")
SOURCES = ("*.py", "*.cpp", "*.h", "*.cu", "*.md", "*.proto", "*.cmake", "*.mk", "*.sh")
#: Records of what was seen then.
HISTORY = "docs/gpu-results"


def prose(path: Path) -> Iterator[str]:
    """Comments and docstrings; of documents everything."""
    text = path.read_text()
    if path.suffix == ".md":
        yield text
    elif path.suffix == ".py":
        nodes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        yield from (ast.get_docstring(one) or "" for one in ast.walk(ast.parse(text)) if isinstance(one, nodes))
        yield from re.findall(r"^\s*#.*", text, re.MULTILINE)
    else:
        mark = "//" if path.suffix in (".cpp", ".h", ".cu", ".proto") else "#"
        yield from (line[line.index(mark) :] for line in text.splitlines() if mark in line)


def endings(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[at:]) for at in range(len(parts)))


def test_files_that_are_named_are_there() -> None:
    known = {ending for path in tracked() for ending in endings(str(path.relative_to(ROOT)))}
    files = [path for path in tracked(*SOURCES) if HISTORY not in str(path)]
    assert len(files) > 500
    wrong = [
        f"{path.relative_to(ROOT)} names {name}"
        for path in files
        for text in prose(path)
        for name in NAMED.findall(text)
        if name not in known | FOREIGN
    ]
    assert not wrong, "\n".join(wrong)
