"""Which tests `make test-changed` runs: scripts/changed.py, on a tree of the test's own and on this one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from toolkit.tree import ROOT, tracked

sys.path.insert(0, str(ROOT / "scripts"))

import changed

READMES = {
    "low": "May import: nothing.", "middle": "May import: `low`, `grpc`.", "top": "May import: `middle` (its seam).",
    "apart": "May import: `grpc`.", "middle/inner": "May import: `low`.",
}  # fmt: skip
TESTS = ("low/test_a.py", "middle/test_b.py", "middle/inner/test_c.py", "middle/more/test_d.py", "top/test_e.py",
         "apart/test_f.py", "test_tree.py")  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder, text in READMES.items():
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "README.md").write_text(f"# {folder}\n\n{text}\n")
        (tmp_path / folder / "code.py").write_text("")
    for one in TESTS:
        path = tmp_path / "tests" / "unit" / one
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    jobs = tmp_path / "tests" / "end_to_end"
    jobs.mkdir()
    (jobs / "paced.py").write_text("")
    (jobs / "test_jobs.py").write_text('PROGRAM = "paced.py"\n')
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def unit(*names: str) -> list[str]:
    return sorted(f"tests/unit/{one}" for one in (*names, "test_tree.py"))


MIDDLE = ("middle/test_b.py", "middle/more")


@pytest.mark.parametrize(
    ("paths", "tests"),
    [
        (["low/code.py"], unit("low", *MIDDLE, "middle/inner", "top")),
        (["middle/code.py"], unit(*MIDDLE, "top")),
        (["middle/inner/code.py"], unit("middle/inner")),
        (["apart/code.py", "top/gone.py"], unit("apart", "top")),
        (["README.md"], unit()),
        (["tests/unit/low/test_a.py", "tests/unit/low/test_gone.py"], unit("low/test_a.py")),
        (["tests/unit/top/rig.py"], unit("top")),
        (["tests/end_to_end/paced.py"], ["tests/end_to_end/test_jobs.py", *unit()]),
        (["tests/toolkit/service.py"], ["tests/model", "tests/operators", "tests/unit"]),
    ],
)
def test_a_room_and_those_that_may_import_it(tree: Path, paths: list[str], tests: list[str]) -> None:
    assert changed.chosen(paths, tree) == tests


def test_what_git_says(tree: Path) -> None:
    assert changed.changed(tree, "HEAD") == []
    (tree / "low" / "code.py").write_text("x = 1\n")
    (tree / "new.py").write_text("")
    (tree / "top" / "code.py").unlink()
    assert changed.changed(tree, "HEAD") == ["low/code.py", "new.py", "top/code.py"]
    with pytest.raises(SystemExit, match="git diff"):
        changed.changed(tree, "nowhere")


def test_each_room_here_has_tests_and_each_test_a_room() -> None:
    allowed = changed.rules()
    for name in allowed:
        assert any(one.count("/") > 2 or "unit/test_" not in one for one in changed.chosen([f"{name}/x"])), name
    all_rooms = changed.chosen([f"{name}/x" for name in allowed])
    left = [
        str(path.relative_to(ROOT))
        for path in tracked("tests/unit/**/test_*.py", "tests/model/test_*.py", "tests/operators/test_*.py")
        if not str(path.relative_to(ROOT)).startswith((*all_rooms, "tests/unit/fakes/"))
    ]
    assert left == []
