"""make test-changed: the tests of what has changed, and of what may import it.

    changed.py [--since COMMIT] [--json]

Prints folders and files of tests, one on a line; on standard error what was left out. A room is a folder whose README
says what it may import; its tests, and those of each room that may import it, directly or through others, are run.
Called by: `make test-changed`; the test of layers takes the rules from here. Promise: reads what git and the READMEs
say, changes nothing. What rooms do to each other as processes no import shows: whole jobs (`tests/end_to_end`) are run
only where they themselves have changed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Beside the folder under tests/unit that has a room's name.
MORE = {
    "proxy/recovery": ("tests/model",),
    "proxy/ranks": ("tests/unit/proxy/test_states.py",),
    "proxy/native/operators": ("tests/operators", "tests/unit/operators"),
    "proxy/native": ("tests/unit/device", "tests/unit/executor"),  # it puts them together
    "proxy/worker": (
        "tests/unit/executor",
        "tests/unit/proxy/test_real.py",
        "tests/unit/proxy/test_standard_streams.py",
    ),
    "interpose/generator": ("tests/unit/interpose/api",),  # what it writes
}
#: All parts, where what they stand on has changed.
PARTS = ("tests/unit", "tests/model", "tests/operators")
EVERYBODY_S = ("tests/toolkit/", "tests/conftest.py", "tests/forge/", "pyproject.toml")
WHOLE_JOBS = "tests/end_to_end/"


def rules(root: Path = ROOT) -> dict[str, set[str]]:
    """Rooms -> what may be imported there: rooms, and foreign packages."""
    found = {}
    for path in files(root, "*README.md"):
        text = re.search(r"May import: (.*?)\.(?:\s|$)", (root / path).read_text(), re.DOTALL)
        if text and not path.startswith("tests/"):
            plain = re.sub(r"\(.*?\)", "", text[1], flags=re.DOTALL)
            found[str(Path(path).parent)] = set(re.findall(r"`([^`]+)`", plain))
    return found


def files(root: Path, *patterns: str) -> list[str]:
    return said(root, "ls-files", "--", *patterns)


def said(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def changed(root: Path, since: str) -> list[str]:
    """What differs from the commit now, and what git does not know yet."""
    known = said(root, "diff", "--name-only", "--no-renames", since, "--")
    return sorted({*known, *said(root, "ls-files", "--others", "--exclude-standard")})


def room(path: str, rooms: Iterable[str]) -> str:
    """The innermost one; empty: none."""
    return max((one for one in rooms if path.startswith(one + "/")), key=len, default="")


def importers(names: set[str], allowed: dict[str, set[str]]) -> set[str]:
    """These rooms, and those that may import them, however far away."""
    reached = set(names)
    while more := {one for one, may in allowed.items() if may & reached} - reached:
        reached |= more
    return reached


def tests_of(name: str, rooms: Iterable[str], root: Path = ROOT) -> Iterator[str]:
    """Without those that are another room's."""
    yield from MORE.get(name, ())
    for folder in (f"tests/unit/{name}", f"tests/unit/{name.removeprefix('proxy/native/')}"):
        inner = {f"{folder}/{one.removeprefix(name + '/')}" for one in rooms if one.startswith(name + "/")}
        if not (root / folder).is_dir():
            continue
        if not inner:
            yield folder
        for entry in sorted((root / folder).iterdir()) if inner else ():
            inside = str(entry.relative_to(root))
            is_room = any(one == inside or one.startswith(inside + "/") for one in inner)
            if (entry.is_dir() and not is_room and entry.name[0] != "_") or entry.name.startswith("test_"):
                yield inside


def tests_near(path: str, root: Path = ROOT) -> Iterator[str]:
    """Of a changed file under tests/."""
    if path.startswith(EVERYBODY_S):
        yield from PARTS
    elif Path(path).name.startswith("test_"):
        yield from [path] if (root / path).exists() else []
    elif path.startswith(WHOLE_JOBS):
        stem = Path(path).stem
        yield from (one for one in files(root, WHOLE_JOBS + "test_*.py") if stem in (root / one).read_text())
    elif path.startswith("tests/fakes/"):
        yield from ("tests/unit/fakes", "tests/unit/device/cuda")
    elif path.startswith(PARTS) and (root / path).parent.is_dir():
        yield str(Path(path).parent)


def chosen(paths: Iterable[str], root: Path = ROOT) -> list[str]:
    """Folders and files of tests, without what lies in another one of them."""
    allowed = rules(root)
    rooms = {name for path in paths if (name := room(path, allowed))}
    found = {one for name in importers(rooms, allowed) for one in tests_of(name, allowed, root)}
    found |= {one for path in paths for one in tests_near(path, root)}
    found |= {one for one in files(root, "tests/unit/test_*.py") if one.count("/") == 2}  # rules of the tree
    return sorted(one for one in found if not any(one.startswith(other + "/") for other in found))


def main() -> int:
    assert __doc__
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--since", default="HEAD")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    paths = changed(ROOT, args.since)
    if not paths:
        sys.exit(f"nothing has changed since {args.since}: make test-changed SINCE=COMMIT takes another one")
    tests = chosen(paths)
    print(json.dumps({"changed": paths, "tests": tests}, indent=1) if args.json else "\n".join(tests))
    if not any(one.startswith(WHOLE_JOBS) for one in tests):
        print("== without whole jobs (tests/end_to_end): make test has them", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
