"""What the built libraries need of the system that they run on, and what they say of the one that built them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from toolkit.tree import ROOT

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
#: That of Red Hat 9, whose C++ library is the oldest beside this glibc.
GLIBCXX = (3, 4, 29)


def said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def versions(library: str, kind: str) -> set[tuple[int, ...]]:
    found = re.findall(rf"Name: {kind}_([\d.]+)", said("readelf", "-V", str(ROOT / library)))
    return {tuple(int(one) for one in number.split(".")) for number in found}


@pytest.mark.parametrize("library", FREE + OF_TORCH)
def test_no_newer_glibc_than_promised(library: str) -> None:
    needed = versions(library, "GLIBC")
    assert needed and max(needed) <= GLIBC, sorted(needed)[-3:]


@pytest.mark.parametrize("library", FREE)
def test_the_cpp_library_is_linked_in(library: str) -> None:
    assert not versions(library, "GLIBCXX") and not versions(library, "CXXABI")


@pytest.mark.parametrize("library", OF_TORCH)
def test_the_cpp_library_is_one_that_red_hat_9_has(library: str) -> None:
    needed = versions(library, "GLIBCXX")
    assert needed and max(needed) <= GLIBCXX, sorted(needed)[-3:]


@pytest.mark.parametrize("library", FREE + OF_TORCH)
def test_no_other_library_is_needed(library: str) -> None:
    needed = set(re.findall(r"NEEDED.*\[(.+)\]", said("readelf", "-d", str(ROOT / library))))
    assert needed <= SYSTEM | (OF_PYTORCH if library in OF_TORCH else set())


@pytest.mark.parametrize("library", FREE)
def test_no_place_of_the_build_is_in_a_library(library: str, tmp_path: Path) -> None:
    """Without what stripping takes away."""
    stripped = tmp_path / "library.so"
    said("strip", "-o", str(stripped), str(ROOT / library))
    contents = stripped.read_bytes()
    assert str(ROOT).encode() not in contents
    assert b"/usr/include/" not in contents
    debug = (ROOT / library).read_bytes()
    assert str(ROOT).encode() not in debug, "debug information is relative to the sources"


@pytest.mark.parametrize("library", FREE)
def test_what_is_linked_in_stays_inside(library: str) -> None:
    """A program's C++ library and nghttp2, if it has any, are its own."""
    lines = said("nm", "-D", "--defined-only", str(ROOT / library)).splitlines()
    strangers = [line for line in lines if re.search(r" (_Z|nghttp2_|arc4random)", line)]
    assert lines and not strangers
