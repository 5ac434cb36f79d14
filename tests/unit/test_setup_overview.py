"""What is said before the set-up begins: what is not there yet, once, and nothing where all is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from toolkit.tree import ROOT
from toolkit.waiting import patient

SECONDS = 60
TORCH = "torch===2.11.0"
MAKEFILE = """SHELL := bash
VENV := .venv
PY := $(VENV)/bin/python
include scripts/setup.mk
"""
#: Stands for Python and CMake of the virtual environment: says what they say, and leaves what they leave.
STAND_IN = r"""#!/usr/bin/env bash
cd "$(dirname "$0")/../.."
packages=.venv/lib/python3.11/site-packages
case "$*" in
  *"pip --version"*) echo "pip 23.0.1" ;;
  *torch===*)
    echo "WARNING: Location '/wheels' is ignored: it is neither a file nor a directory."
    echo "Collecting torch===2.11.0"
    [ ! -e fail ] || { echo "ERROR: No matching distribution found for torch===2.11.0"; exit 1; }
    echo "Installing collected packages: torch"
    mkdir -p $packages/torch-2.11.0.dist-info ;;
  *"-e .[dev]"*) echo "Installing collected packages: jitc"; mkdir -p $packages/jitc-0.1.0.dist-info ;;
  *--build*) if [ -e built ]; then echo "ninja: no work to do."; else echo "[1/1] Linking"; touch built; fi ;;
esac
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout in which all system packages are there."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "build/stamps").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "build/stamps/system").write_text("")
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return tmp_path


def stand_in(tree: Path) -> None:
    for name in ("python", "cmake"):
        path = tree / ".venv/bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(STAND_IN)
        path.chmod(0o755)


def make(tree: Path) -> subprocess.CompletedProcess[str]:
    """Runs as a person would, whatever `make` these tests were started by."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "TORCH"))}
    return subprocess.run(
        ["make", "build"], cwd=tree, env=environment, capture_output=True, text=True, check=False,
        timeout=patient(SECONDS),
    )  # fmt: skip


def overview(tree: Path, torch: str = TORCH) -> list[str]:
    command = [sys.executable, str(tree / "scripts/overview.py"), ".venv", torch]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


def titles(tree: Path, torch: str = TORCH) -> list[str]:
    return [re.split(r"  +", line)[1] for line in overview(tree, torch)[1:] if "  " in line.strip()]


def test_all_is_said_once_and_then_nothing(tree: Path) -> None:
    stand_in(tree)
    first = make(tree)
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.splitlines()[0].startswith(
        "== set-up: about 14 minutes on two cores, 2.8 GB to download at most"
    )
    assert first.stdout.count("== set-up") == 1
    assert "WARNING" not in first.stdout
    again = make(tree)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_what_failed_is_still_to_be_done(tree: Path) -> None:
    stand_in(tree)
    (tree / "fail").write_text("")
    failed = make(tree)
    assert failed.returncode == 2
    assert "ERROR: No matching distribution found for torch===2.11.0\n" in failed.stderr
    assert "Error 1" in failed.stderr
    assert titles(tree) == ["PyTorch", "other packages", "native build"]


def test_what_is_there_is_not_named(tree: Path) -> None:
    assert titles(tree) == ["virtual environment", "PyTorch", "other packages", "native build"]
    stand_in(tree)
    packages = tree / ".venv/lib/python3.11/site-packages"
    for name, left in (
        ("torch-2.11.0", ["other packages", "native build"]),
        ("jitc-0.1.0", ["native build"]),
    ):
        (packages / f"{name}.dist-info").mkdir(parents=True)
        assert titles(tree) == left
    assert titles(tree, "torch===2.6.0") == ["PyTorch", "native build"]
    assert titles(tree, "torch") == ["native build"]
    (tree / "build/stamps/native").write_text("")
    assert overview(tree) == []


def test_sizes_and_places(tree: Path) -> None:
    head, *rows = overview(tree)
    assert re.fullmatch(
        r"== set-up: about 14 minutes on two cores, 2\.8 GB to download at most, 6\.2 GB of disk; \d+ GB are free here",
        head,
    )
    assert [re.split(r"  +", row.strip()) for row in rows[:-1]] == [
        ["virtual environment", "seconds", "23 MB in .venv"],
        ["PyTorch", "3 min", "2.7 GB to download", "4.8 GB in .venv"],
        ["other packages", "1 min", "0.1 GB to download", "0.4 GB in .venv"],
        ["native build", "10 min", "1.0 GB in build"],
    ]
    assert "2.7 GB more in build" in rows[-1]


@pytest.mark.parametrize(("found", "words"), [("true", []), ("false", ["g++", "make"])])
def test_missing_system_packages_are_named_and_not_installed(tree: Path, found: str, words: list[str]) -> None:
    """Nothing is looked up: every question is answered in the same way."""
    (tree / "build/stamps/system").unlink()
    script = tree / "scripts/system-packages.sh"
    script.write_text(script.read_text().replace('is_there "$package"', found))
    done = subprocess.run(
        ["bash", str(script), "build", "missing"], capture_output=True, text=True, check=True, cwd=tree
    )
    assert done.stdout.split()[:2] == words
    assert ("system packages" in titles(tree)) == bool(words)
