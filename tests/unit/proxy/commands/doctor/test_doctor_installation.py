"""The checks of `jitc doctor` about the installation: libraries that are missing or broken, PyTorch, variables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from doctor_rig import look

from jitc.client_shim.native_parts import torch_build
from jitc.client_shim.native_parts.store import UnsafeStore
from jitc.proxy.commands.doctor import installation
from jitc.proxy.commands.doctor.check import BAD, GOOD, UNKNOWN, Context
from jitc.proxy.common import operators, paths

SOFTWARE = Context("software")
TORCH = torch_build.TorchBuild(Path("/nowhere/torch"), "2.11.0+cu130", "abc", False)


@pytest.mark.parametrize("name", ["preloaded", "libraries", "torch", "native part", "compiler"])
def test_this_installation_is_good(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    found = look("installation", name, SOFTWARE)
    assert found.verdict == GOOD, found


def test_a_missing_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(paths, "_PACKAGE", tmp_path)
    found = look("installation", "libraries", SOFTWARE)
    assert found.verdict == BAD and "libjitc_executor.so is missing" in found.says and "make build" in found.remedy

    def missing() -> Path:
        raise paths.MissingLibrary("libjitc_interpose.so is missing")

    assert installation.of_preloaded(missing).verdict == BAD


def test_a_library_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "libjitc_interpose.so").write_text("text")
    found = installation.of_preloaded(lambda: tmp_path / "libjitc_interpose.so")
    assert found.verdict == BAD and "cannot be preloaded" in found.says
    found = installation.of_libraries([lambda: tmp_path / "libjitc_interpose.so"])
    assert found.verdict == BAD and "cannot be loaded" in found.says


@pytest.mark.parametrize(
    ("version", "verdict"),
    [("2.6.0", GOOD), ("2.15.1+cu132", GOOD), ("2.5.1", BAD), ("2.16.0", BAD), ("3.0.0.dev2026", BAD)],
)
def test_releases_of_pytorch(version: str, verdict: str) -> None:
    assert installation.supported() == ">=2.6,<2.16"
    found = installation.of_torch(replace(TORCH, version=version), installation.supported())
    assert found.verdict == verdict and version in found.says


def test_no_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_build, "find_spec", lambda name: None)
    assert look("installation", "torch", SOFTWARE).verdict == UNKNOWN
    assert installation.native_part(SOFTWARE) is None
    assert installation.of_torch(TORCH, "").verdict == UNKNOWN


def test_a_native_part_for_another_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = installation.of_native_part(replace(TORCH, version="2.99.0"))
    assert found.verdict == BAD and "2.99.0" in found.says and "make build" in found.remedy
    monkeypatch.setattr(operators, "_own", lambda: tmp_path / "none")
    assert installation.of_native_part(TORCH).verdict == BAD


def test_native_parts_of_an_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert installation.of_supply(TORCH, lambda _: tmp_path).verdict == GOOD

    def unsafe(_: torch_build.TorchBuild) -> Path:
        raise UnsafeStore("others may write it")

    assert installation.of_supply(TORCH, unsafe).verdict == BAD
    headers = tmp_path / "include" / "cuda_runtime_api.h"
    headers.parent.mkdir()
    headers.touch()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("CXX", "true")
    found = installation.of_supply(TORCH, lambda _: None)
    assert found.verdict == UNKNOWN and "jitc build-torch" in found.remedy
    monkeypatch.setenv("CXX", "no-such-compiler")
    found = installation.of_supply(TORCH, lambda _: None)
    assert found.verdict == BAD and "there is no compiler no-such-compiler" in found.says


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    found = look("installation", "compiler", SOFTWARE)
    assert (
        found.verdict == UNKNOWN and "no-such-compiler, which CXX names" in found.says and "torch.compile" in found.says
    )
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = look("installation", "compiler", Context("cuda"))
    assert found.verdict == UNKNOWN and "torch.compile" not in found.says


def test_a_compiler_that_does_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """One without its library's headers, and a program that is none."""
    monkeypatch.setenv("CXX", "g++ -nostdinc++")
    found = look("installation", "compiler", SOFTWARE)
    assert found.verdict == UNKNOWN and found.says.startswith("g++ does not compile C++20 (") and "vector" in found.says
    monkeypatch.setenv("CXX", "false")
    found = look("installation", "compiler", SOFTWARE)
    assert found.verdict == UNKNOWN and "(exit status 1)" in found.says and "CXX" in found.remedy


def test_what_is_preloaded_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = tmp_path / "libjitc_interpose.so"
    ours.touch()
    monkeypatch.setenv("LD_PRELOAD", f"{ours}:{paths.preload_library()}")
    found = installation.preload_variable(SOFTWARE)
    assert found.verdict == BAD and "2 times" in found.says
    assert installation.of_preload_variable("").verdict == GOOD
    assert installation.of_preload_variable(str(ours)).verdict == GOOD
    assert installation.of_preload_variable("libm.so.6").verdict == GOOD
    found = installation.of_preload_variable(f"{tmp_path}/none.so {ours}")
    assert found.verdict == BAD and f"{tmp_path}/none.so" in found.says


def test_variables() -> None:
    known = {"JITC_SOCKET": "/s", "JITC_HANG_SECONDS": "5", "JITC_TEST_PATIENCE": "3", "PATH": "/"}
    found = installation.of_variables(known)
    assert found.verdict == GOOD and found.says == "known: JITC_HANG_SECONDS, JITC_SOCKET"
    assert installation.of_variables({}).verdict == GOOD
    found = installation.of_variables(known | {"JITC_SOKET": "/s", "JITC_FRUIT": "apple"})
    assert found.verdict == BAD and "JITC_SOKET is no variable of jitc's; did you mean JITC_SOCKET?" in found.says
    assert "JITC_FRUIT is no variable of jitc's" in found.says
    found = installation.of_variables({"JITC_GPUS": "many", "JITC_HANG_SECONDS": "", "JITC_RESPAWN": "yes"})
    assert (
        found.verdict == BAD
        and found.says.startswith("JITC_GPUS: 'many' is not a whole number")
        and ";" not in found.says
    )


def test_a_file_of_options(tmp_path: Path) -> None:
    path = tmp_path / "jitc.toml"
    path.write_text("gpus = 2")
    assert installation.of_variables({"JITC_CONFIG": str(path)}).says == "known: JITC_CONFIG"
    for text, why in (("gpus = 0", "gpus: '0' is not a whole number"), ("gpu = 1", "did you mean gpus?"), ("x", "no")):
        path.write_text(text)
        found = installation.of_variables({"JITC_CONFIG": str(path)})
        assert found.verdict == BAD and str(path) in found.says and why in found.says
