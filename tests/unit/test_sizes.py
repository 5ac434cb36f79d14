"""Files and classes stay small enough to be read: what is larger is on a list, and the list may only get shorter."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from toolkit.tree import ROOT, tracked

FILE_LINES, FOLDER_FILES = 320, 15
#: Of files that are not the product's: tests, scripts, measurements.
OTHER_LINES = 600
FUNCTIONS, MEMBERS = 30, 20
#: What there is beyond that, in lines: it must not grow.
LONG_FILES = {"interpose/spec/device/errors.py": 408}
LARGE_FOLDERS: dict[str, int] = {}
#: Class -> functions, members.
LARGE_CLASSES = {
    "proxy/native/device/common/turns/residency.h Residency": (28, 25),
    "proxy/native/device/cuda/memory/memory.h Memory": (38, 16),
    "proxy/native/device/software/memory/memory.h Memory": (35, 12),
    "proxy/native/executor/state/resources.h ResourceTable": (36, 16),
    "proxy/native/device/cuda/nccl/nccl.h Nccl": (4, 21),
}
PRODUCT = ("client_shim", "interpose", "protos", "proxy")
CODE = re.compile(r"//[^\n]*|\"(?:\\.|[^\"\\\n])*\"")


def product(*suffixes: str) -> list[Path]:
    files = tracked(*(f"{top}/*{suffix}" for top in PRODUCT for suffix in suffixes))
    return [one for one in files if not one.name.startswith("generated_")]


def test_files_stay_short() -> None:
    lines = {str(one.relative_to(ROOT)): len(one.read_text().splitlines()) for one in product(".py", ".h", ".cpp")}
    assert {name: count for name, count in lines.items() if count > LONG_FILES.get(name, FILE_LINES)} == {}
    assert [name for name in LONG_FILES if lines.get(name, 0) <= FILE_LINES] == [], "no longer long: off the list"


def test_all_files_stay_readable() -> None:
    """One file always gets away; not here."""
    files = [one for one in tracked("*.py", "*.h", "*.cpp", "*.mk", "*.sh") if not one.name.startswith("generated_")]
    lines = {str(one.relative_to(ROOT)): len(one.read_text().splitlines()) for one in files}
    assert lines
    assert {name: count for name, count in lines.items() if count > OTHER_LINES} == {}


def test_folders_stay_small() -> None:
    files: dict[str, int] = {}
    for path in [*product(".py", ".h", ".cpp"), *tracked("bench/*")]:
        folder = str(path.parent.relative_to(ROOT))
        files[folder] = files.get(folder, 0) + 1
    assert {name: count for name, count in files.items() if count > LARGE_FOLDERS.get(name, FOLDER_FILES)} == {}
    assert [name for name in LARGE_FOLDERS if files.get(name, 0) <= FOLDER_FILES] == [], "small now: off the list"


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Name and body of each class of a header, without what is in braces inside it."""
    for found in re.finditer(r"^(?:class|struct) (?:alignas\(\d+\) )?(\w+)[^;{]*\{", text, re.MULTILINE):
        depth, body = 1, []
        for letter in text[found.end() :]:
            depth += {"{": 1, "}": -1}.get(letter, 0)
            if not depth:
                break
            body.append(letter if depth == 1 and letter != "}" else ";" if letter == "}" and depth == 1 else "")
        yield found[1], "".join(body)


def counted(body: str) -> tuple[int, int]:
    """Functions and members."""
    said = [" ".join(one.split()) for one in body.split(";")]
    said = [re.sub(r"^(?:public|private|protected): ?", "", one) for one in said]
    said = [
        one for one in said if one and not re.match(r"(?:using|friend|static constexpr|enum|struct|class|~)\b", one)
    ]
    functions = [one for one in said if re.search(r"\w\(|operator", one) and "(*" not in one]
    return len(functions), len(said) - len(functions)


def test_classes_stay_small() -> None:
    found = {
        f"{path.relative_to(ROOT)} {name}": counted(body)
        for path in product(".h")
        for name, body in blocks(CODE.sub("", path.read_text()))
    }
    for path in product(".py"):
        for one in ast.walk(ast.parse(path.read_text())):
            if isinstance(one, ast.ClassDef):
                methods = [each for each in one.body if isinstance(each, ast.FunctionDef)]
                found[f"{path.relative_to(ROOT)} {one.name}"] = len(methods), 0
    assert len(found) > 300
    too_large = {
        name: counts
        for name, counts in found.items()
        if any(count > most for count, most in zip(counts, LARGE_CLASSES.get(name, (FUNCTIONS, MEMBERS)), strict=True))
    }
    assert too_large == {}
    small = [name for name in LARGE_CLASSES if (now := found.get(name, (0, 0)))[0] <= FUNCTIONS and now[1] <= MEMBERS]
    assert small == [], "small now: off the list"
