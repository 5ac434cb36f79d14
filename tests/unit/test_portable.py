"""What the built libraries need of the system that they run on, and what they say of the one that built them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from toolkit.elf import RED_HAT_9, needed_libraries, needed_versions
from toolkit.tree import ROOT
from toolkit.wheel import named_in, places

from jitc.proxy.common.paths import GLIBC

FREE = (
    "interpose/lib/libjitc_interpose.so", "interpose/lib/libjitc_nvml.so", "interpose/lib/libjitc_transport.so",
    "proxy/lib/libjitc_boundaries.so", "proxy/lib/libjitc_executor.so",
)  # fmt: skip
#: They share the C++ library with PyTorch, which needs the system's.
OF_TORCH = ("client_shim/lib/libjitc_torch.so", "proxy/lib/libjitc_operators.so")
#: What every system has that can run Python.
SYSTEM = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
OF_PYTORCH = {"libstdc++.so.6", "libc10.so", "libc10_cuda.so", "libtorch_cpu.so", "libtorch_cuda.so"}


def said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.parametrize("library", FREE + OF_TORCH)
def test_no_newer_glibc_than_promised(library: str) -> None:
    needed = needed_versions(ROOT / library, "GLIBC")
    assert needed and max(needed) <= GLIBC, sorted(needed)[-3:]


@pytest.mark.parametrize("library", FREE)
def test_the_cpp_library_is_linked_in(library: str) -> None:
    assert not needed_versions(ROOT / library, "GLIBCXX") and not needed_versions(ROOT / library, "CXXABI")


@pytest.mark.parametrize("library", OF_TORCH)
def test_the_cpp_library_is_one_that_red_hat_9_has(library: str) -> None:
    needed = needed_versions(ROOT / library, "GLIBCXX")
    assert needed and max(needed) <= RED_HAT_9, sorted(needed)[-3:]


@pytest.mark.parametrize("library", FREE + OF_TORCH)
def test_no_other_library_is_needed(library: str) -> None:
    assert needed_libraries(ROOT / library) <= SYSTEM | (OF_PYTORCH if library in OF_TORCH else set())


@pytest.mark.parametrize("library", FREE)
def test_no_place_of_the_build_is_in_a_library(library: str, tmp_path: Path) -> None:
    """Without what stripping takes away."""
    stripped = tmp_path / "library.so"
    said("strip", "-o", str(stripped), str(ROOT / library))
    contents = stripped.read_bytes()
    assert named_in(contents, places("/usr/include")) == []
    debug = (ROOT / library).read_bytes()
    assert str(ROOT).encode() not in debug, "debug information is relative to the sources"


@pytest.mark.parametrize("library", FREE)
def test_what_is_linked_in_stays_inside(library: str) -> None:
    """A program's C++ library and nghttp2, if it has any, are its own."""
    lines = said("nm", "-D", "--defined-only", str(ROOT / library)).splitlines()
    strangers = [line for line in lines if re.search(r" (_Z|nghttp2_|arc4random)", line)]
    assert lines and not strangers
