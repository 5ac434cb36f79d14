"""Who may import whom, and other rules of the tree that are easy to break without noticing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
#: Python folder -> what of jitc and of the heavy packages it must not import.
FORBIDDEN = {
    "proxy": ("jitc.client_shim", "torch"),
    "client_shim": ("jitc.proxy", "grpc", "google"),
    "interpose/generator": ("jitc.proxy", "jitc.client_shim", "torch", "grpc"),
    "interpose/spec": ("jitc.proxy", "jitc.client_shim", "torch", "grpc"),
    "examples": ("jitc",),
    "tests/toolkit": ("jitc.proxy", "jitc.client_shim", "jitc.interpose", "torch"),
    "tests/end_to_end": ("jitc.proxy", "jitc.client_shim", "jitc.interpose"),
    "tests/gpu": ("toolkit", "pytest"),  # runs where neither is
    "tests/gpu/steps": ("torch", "jitc"),
    "tests/gpu/preflight": ("torch", "jitc", "grpc"),
}
#: Headers of core that are not for devices: they know it by core/backend.h.
CORE_ALONE = ("core/session", "core/journal", "core/executor", "core/resources", "core/wire")
#: C++ folder -> folders whose headers it must not include.
FORBIDDEN_INCLUDES = {
    "interpose": ("proxy/", "torch/", "ATen/", "grpcpp/"),
    "client_shim/native": ("proxy/", "runtime/", "grpcpp/"),
    "proxy/native/core": ("torch/", "ATen/", "device/", "software/", "cuda/", "cuda_runtime"),
    "proxy/native/device": ("torch/", "ATen/", "software/", "cuda/", "operators/", *CORE_ALONE),
    "proxy/native/cuda": ("torch/", "ATen/", "software/", "operators/", *CORE_ALONE),
    "proxy/native/software": ("torch/", "ATen/", "cuda/", "operators/", *CORE_ALONE),
    "proxy/native/operators": ("core/", "device/", "software/", "cuda/"),
}
LONGEST_FILE = 600
SOURCES = ("*.py", "*.h", "*.cpp", "*.mk", "*.sh")
FOLDERS_WITHOUT_README = {"tests"}


def tracked(*patterns: str) -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "--", *patterns], cwd=ROOT, check=True, capture_output=True, text=True)
    return [ROOT / line for line in listing.stdout.splitlines() if (ROOT / line).is_file()]


def imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
    return names


def matches(name: str, forbidden: str) -> bool:
    return name == forbidden.rstrip(".") or name.startswith(forbidden.rstrip(".") + ".")


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_imports(folder: str) -> None:
    files = tracked(f"{folder}/*.py")
    assert files, f"the rule for {folder} matches no file"
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in sorted(imports(path))
        for forbidden in FORBIDDEN[folder]
        if matches(name, forbidden)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", FORBIDDEN_INCLUDES)
def test_includes(folder: str) -> None:
    files = tracked(f"{folder}/*.h", f"{folder}/*.cpp")
    assert files, f"the rule for {folder} matches no file"
    wrong = []
    for path in files:
        for name in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(), re.MULTILINE):
            wrong += [
                f"{path.relative_to(ROOT)} includes {name}"
                for bad in FORBIDDEN_INCLUDES[folder]
                if name.removeprefix("../").startswith(bad)
            ]
    assert not wrong, "\n".join(wrong)


def test_tests_do_not_import_tests() -> None:
    files = tracked("tests/*.py")
    assert files
    wrong = [str(path.relative_to(ROOT)) for path in files for name in imports(path) if re.search(r"(^|\.)test_", name)]
    assert not wrong, "tests that import tests: " + ", ".join(wrong)


def test_every_folder_of_sources_says_what_it_is() -> None:
    folders = {path.parent for path in tracked("*.py", "*.h", "*.cpp") if "/" in str(path.relative_to(ROOT))}
    tops = {ROOT / folder.relative_to(ROOT).parts[0] for folder in folders} - {ROOT / "protos"}
    missing = [
        one.name for one in sorted(tops) if one.name not in FOLDERS_WITHOUT_README and not (one / "README.md").exists()
    ]
    assert not missing, "no README.md in: " + ", ".join(missing)


def test_every_python_module_starts_with_what_it_is_for() -> None:
    files = [path for path in tracked("*.py") if not path.name.startswith("generated_")]
    wrong = [str(path.relative_to(ROOT)) for path in files if not ast.get_docstring(ast.parse(path.read_text()))]
    assert not wrong, "no docstring: " + ", ".join(wrong)


def test_files_stay_readable() -> None:
    """One file always gets away; not here."""
    files = [path for path in tracked(*SOURCES) if not path.name.startswith("generated_")]
    assert files
    long = [(len(path.read_text().splitlines()), str(path.relative_to(ROOT))) for path in files]
    assert not [f"{name}: {lines} lines" for lines, name in sorted(long) if lines > LONGEST_FILE]


def test_light_commands_import_nothing_heavy() -> None:
    """`jitc preload-path` runs in every job's start-up: no grpc, no torch."""
    heavy = ("torch", "grpc", "google.protobuf")
    code = f"import sys; import jitc.proxy.paths; print([one for one in {heavy} if one in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd="/")
    assert done.stdout.strip() == "[]"
