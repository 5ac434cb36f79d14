"""Programs that open libraries and look functions up in them: ours where we serve them, else as without us.

Each program runs with the interposer preloaded. Libraries that it opens are made of opening.c; NVIDIA's own are those
of the wheels.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from toolkit.fakes import wheel_library

from jitc.proxy.backends.cuda import libraries
from jitc.proxy.common import paths

SOURCE = Path(__file__).with_name("opening.c")
#: A function of each library that we serve.
SERVED = {
    "nccl": "ncclAllReduce",
    "cublas": "cublasCreate_v2",
    "cublaslt": "cublasLtCreate",
    "cudnn": "cudnnCreate",
}
HEAD = """
import ctypes, json, sys
ours = ctypes.CDLL(None)
def address(library, name):
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
def is_ours(library, name):
    return address(library, name) == address(ours, name)
"""


def compiled(part: str, path: Path, *options: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-shared", "-fPIC", f"-D{part}", str(SOURCE), "-o", str(path), *options], check=True)
    return path


def run(program: str, *arguments: object, behind: tuple[Path, ...] = ()) -> tuple[Any, str]:
    """What the program prints, as JSON, and what it says on standard error. behind: preloaded behind the interposer."""
    preload = ":".join(map(str, [paths.preload_library(), *behind]))
    done = subprocess.run(
        [sys.executable, "-c", HEAD + program, *map(str, arguments)],
        env=os.environ | {"LD_PRELOAD": preload}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("name", [*SERVED, "cudart"])
def test_nvidias_library_by_its_path(name: str) -> None:
    if name == "cudart":
        beside = wheel_library(libraries.candidates("cublas"))
        path, function = beside and next(iter(beside.parent.glob("libcudart.so.*")), None), "cudaMalloc"
    else:
        path, function = wheel_library(libraries.candidates(name)), SERVED[name]
    if path is None or not path.is_absolute():
        pytest.skip("this library of NVIDIA's is not installed as a wheel")
    program = """
*_, path, function = sys.argv
found = [is_ours(ctypes.CDLL(path, mode), function) for mode in (ctypes.RTLD_LOCAL, ctypes.RTLD_GLOBAL)]
by_name = ctypes.CDLL(path.rpartition("/")[2])  # it is loaded
print(json.dumps([*found, is_ours(by_name, function)]))
"""
    assert run(program, path, function) == ([True] * 3, "")


@pytest.mark.parametrize("file", ["libcuda.so", "libcuda.so.1", "./libcuda.so", "/nowhere/lib64/libcuda.so.1"])
def test_the_drivers_library_under_all_its_names(file: str) -> None:
    """Also where the machine has none."""
    program = "library = ctypes.CDLL(sys.argv[1]); print(json.dumps([is_ours(library, one) for one in sys.argv[2:]]))"
    assert run(program, file, "cuInit", "cuMemAlloc_v2", "ncclAllReduce") == ([True] * 3, "")


@pytest.mark.parametrize("file", ["libnccl.so.2", "libnccl.so", "libnccl-8f3a22b1.so.2.21.5"])
def test_any_copy_of_a_library(tmp_path: Path, file: str) -> None:
    """Whatever its version, and as tools that repair wheels rename it."""
    library = compiled("NCCL", tmp_path / file)
    program = """
library = ctypes.CDLL(sys.argv[1])
profiled = address(library, "pncclAllReduce") == address(ours, "ncclAllReduce")
print(json.dumps([is_ours(library, "ncclAllReduce"), profiled, library.plain()]))
"""
    assert run(program, library) == ([True, True, 73], "")


def test_a_library_in_a_namespace_of_its_own(tmp_path: Path) -> None:
    library = compiled("NCCL", tmp_path / "libnccl.so.2")
    program = """
ours.dlmopen.restype = ours.dlsym.restype = ctypes.c_void_p
handle = ours.dlmopen(ctypes.c_long(-1), sys.argv[1].encode(), 2)
print(json.dumps(ours.dlsym(ctypes.c_void_p(handle), b"ncclAllReduce") == address(ours, "ncclAllReduce")))
"""
    assert run(program, library) == (True, "")


def test_a_function_that_only_nvidias_library_has(tmp_path: Path) -> None:
    """It would take our handles for its own."""
    library = compiled("NCCL", tmp_path / "libnccl.so.2")
    program = """
library = ctypes.CDLL(sys.argv[1])
try:
    library.ncclNewInThisVersion
    print(json.dumps("found"))
except AttributeError as error:
    print(json.dumps(str(error)))
"""
    said, errors = run(program, library)
    assert said.endswith("undefined symbol: ncclNewInThisVersion")
    assert errors == (
        "jitc: ncclNewInThisVersion of libnccl.so.2 is not served: the program is told that it is not there "
        "(docs/coverage.md)\n"
    )


def test_a_function_that_is_refused() -> None:
    """The same as for a program that is linked with the library."""
    path = wheel_library(libraries.candidates("nccl"))
    if path is None or not path.is_absolute():
        pytest.skip("NCCL is not installed as a wheel")
    said, errors = run("print(json.dumps(ctypes.CDLL(sys.argv[1]).ncclCommWindowRegister()))", path)
    assert said == 5
    assert errors.startswith("jitc: ncclCommWindowRegister is not supported: symmetric memory")


def test_other_libraries_have_functions_of_their_own(tmp_path: Path) -> None:
    """A profiler has NCCL's names in a library that is not NCCL's."""
    library = compiled("PROFILER", tmp_path / "libprofiler.so")
    assert run("print(json.dumps(ctypes.CDLL(sys.argv[1]).ncclAllReduce()))", library) == (80, "")


@pytest.mark.parametrize("file", ["libplain.so", "$ORIGIN/near/libplain.so"])
def test_a_file_is_looked_for_from_where_the_caller_is(tmp_path: Path, file: str) -> None:
    """By its DT_RUNPATH, or its folder: the C library knows the caller by its return address."""
    compiled("NEXT", tmp_path / "near" / "libplain.so")
    caller = compiled("CALLER", tmp_path / "libcaller.so", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/near")
    program = """
caller = ctypes.CDLL(sys.argv[1])
caller.open_from_here.restype = ctypes.c_void_p
handle = caller.open_from_here(sys.argv[2].encode())
print(json.dumps(bool(handle) and ctypes.CDLL("", handle=handle).who()))
"""
    assert run(program, caller, file) == (2, "")


def test_the_next_one_is_that_behind_the_caller(tmp_path: Path) -> None:
    first = compiled("CALLER", tmp_path / "libfirst.so")
    second = compiled("NEXT", tmp_path / "libsecond.so")
    program = """
ours.find_from_here.restype = ctypes.c_void_p
kind = ctypes.CFUNCTYPE(ctypes.c_int)
print(json.dumps([kind(ours.find_from_here(next, b"who"))() for next in (0, 1)]))
"""
    assert run(program, behind=(first, second)) == ([1, 2], "")


def test_errors_and_closing_are_the_c_librarys(tmp_path: Path) -> None:
    library = compiled("PROFILER", tmp_path / "libprofiler.so")
    program = """
import _ctypes
handle = _ctypes.dlopen(sys.argv[1], 2)
_ctypes.dlclose(handle)
loaded = sys.argv[1] in open("/proc/self/maps").read()
try:
    ctypes.CDLL("/nowhere/libnccl.so.2")
except OSError as error:
    print(json.dumps([loaded, str(error)]))
"""
    missing = "/nowhere/libnccl.so.2: cannot open shared object file: No such file or directory"
    assert run(program, library) == ([False, missing], "")
