"""What sources have between quotes.

Called by: tests that look for paths, variables and the like in the product's sources.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path


def texts(path: Path) -> list[str]:
    """What a source has between quotes, without docstrings and comments; all lines of what is neither Python nor C."""
    text = path.read_text()
    if path.suffix == ".py":
        return python_texts(ast.parse(text))
    if path.suffix in (".cpp", ".h"):
        return re.findall(r'"((?:\\.|[^"\\\n])*)"', re.sub(r"^\s*(?://|#\s*include).*$", "", text, flags=re.MULTILINE))
    return text.splitlines()


def python_texts(tree: ast.AST) -> list[str]:
    """Also the parts of a text that is put together. A text alone is a statement, or a docstring."""
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in said]
    return [node.value for node in constants if isinstance(node.value, str)]
