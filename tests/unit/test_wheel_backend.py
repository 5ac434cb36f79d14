"""A `pip install` that cannot work: the build backend says why in one line, and nothing of Python follows."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from toolkit.tree import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = ROOT / "scripts" / "wheel"


def asked(folder: Path, patch: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    """What pip asks first of a backend."""
    code = f"{patch}\nimport backend\nprint(backend.get_requires_for_build_wheel())"
    env = {name: value for name, value in os.environ.items() if name != "CXX"} | {"PYTHONPATH": str(FOLDER)} | environ
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "")
    assert line.startswith("jitc cannot be installed: ")
    return line


def project(folder: Path) -> Path:
    (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    return folder


def test_where_it_can_be_built(tmp_path: Path) -> None:
    done = asked(project(tmp_path))
    assert done.returncode == 0 and "grpcio-tools==1.74.0" in done.stdout, done.stderr
    (tmp_path / "PKG-INFO").write_text("")  # a source distribution, which has the stubs
    assert "grpcio" not in asked(tmp_path).stdout


def test_no_compiler(tmp_path: Path) -> None:
    for environ in ({"PATH": str(tmp_path)}, {"CXX": "g++-99"}):
        line = refusal(asked(project(tmp_path), **environ))
        assert "apt-get install g++ pkg-config libnghttp2-dev libxxhash-dev nlohmann-json3-dev" in line
        assert "dnf install gcc-c++" in line


def test_a_header_is_missing(tmp_path: Path) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text("#!/bin/sh\nread text\ncase $text in *xxhash*) exit 1;; esac\n")
    compiler.chmod(0o755)
    line = refusal(asked(project(tmp_path), PATH=f"{tmp_path}:{os.environ['PATH']}"))
    assert line.endswith("Debian, Ubuntu: apt-get install libxxhash-dev. Red Hat: dnf install xxhash-devel")


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ("import platform; platform.machine = lambda: 'aarch64'", "this is linux on aarch64"),
        ("import sys; sys.platform = 'darwin'", "this is darwin on x86_64"),
        (
            "import os; os.confstr = lambda name: None",
            "needs a system with glibc, as PyTorch does; this one has musl (Alpine)",
        ),
        ("import sysconfig; sysconfig.get_config_var = lambda name: 'x86_64-pc-linux-musl'", "this one has musl"),
    ],
)
def test_a_system_that_jitc_does_not_know(tmp_path: Path, patch: str, why: str) -> None:
    assert why in refusal(asked(project(tmp_path), patch))


def test_what_a_build_needs_is_asked_for() -> None:
    """Modules that the backend imports come with scikit-build-core, which pyproject.toml asks for; those that CMake
    runs are asked for by the backend itself."""
    (required,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert re.match("scikit-build-core[<>=]", required)
    ours = {path.stem for path in FOLDER.glob("*.py")}
    names = set()
    for file in ("backend.py", "editable.py"):
        for node in ast.walk(ast.parse((FOLDER / file).read_text())):
            if isinstance(node, ast.Import):
                names |= {one.name.partition(".")[0] for one in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.partition(".")[0])
    assert names - set(sys.stdlib_module_names) - ours - {"tomllib"} == {"scikit_build_core", "tomli"}
    run = set(re.findall(r"Python3_EXECUTABLE\} -m (\w+)", (FOLDER / "install.cmake").read_text()))
    asked = re.findall(r'^PROTOC = \("([\w-]+)', (FOLDER / "backend.py").read_text(), re.MULTILINE)
    assert run == {one.replace("-", "_").replace("grpcio", "grpc") for one in asked} == {"grpc_tools"}
