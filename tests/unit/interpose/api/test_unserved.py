"""NVIDIA's libraries that are not served: who meets one is told which, on the real libraries as far as they load."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from interpose_symbols import defined
from toolkit.service import Service
from toolkit.workplace import Workplace

from jitc.interpose.spec.unserved import STATIC_RUNTIMES, UNSERVED, StaticRuntime, Unserved
from jitc.proxy.common import paths

#: Calls each function that is named, as a program that is linked with its library does: found by the loader's order.
LINKED = """
import ctypes, sys
for name in sys.argv[1:]:
    function = getattr(ctypes.CDLL(None), name)
    print(function(ctypes.byref(ctypes.c_uint64()), None, None))
"""
#: Calls a function that it looks up in the library itself, after others that the library needs.
LOOKED_UP = """
import ctypes, sys
*others, library, name = sys.argv[1:]
for path in others:
    ctypes.CDLL(path)
print(getattr(ctypes.CDLL(library), name)(ctypes.create_string_buffer(1 << 16), None, None))
"""
#: The same with the C library's own dlsym, which is found by its version.
LOOKED_UP_PAST_US = """
import ctypes, platform, sys
*others, library, name = sys.argv[1:]
for path in others:
    ctypes.CDLL(path)
version = b"GLIBC_2.2.5" if platform.machine() == "x86_64" else b"GLIBC_2.17"
find = ctypes.CDLL(None).dlvsym
find.restype = ctypes.c_void_p
look_up = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(find(None, b"dlsym", version))
found = look_up(ctypes.CDLL(library)._handle, name.encode())
call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(found)
print(call(ctypes.addressof(ctypes.create_string_buffer(1 << 16)), None, None))
"""


#: What a library cannot be loaded without.
NEEDED = {"libcusolver": ("libcublas", "libnvJitLink", "libcusparse"), "libcusparse": ("libnvJitLink",)}


def wheel(name: str) -> Path | None:
    """The library in a wheel of NVIDIA's."""
    found = (path for folder in sys.path for path in Path(folder).glob(f"nvidia/**/{name}.so*"))
    return next(found, None)


@pytest.fixture(scope="module")
def service(shared_workplace: Workplace) -> Iterator[Service]:
    yield shared_workplace.service(1)


def call(service: Service, tmp_path: Path, program: str, *arguments: str) -> tuple[list[str], str]:
    environ = service.env | {"LD_PRELOAD": str(paths.preload_library())}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environ, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


@pytest.mark.parametrize("one", UNSERVED, ids=lambda one: one.title)
def test_the_first_call_names_library_and_function(service: Service, tmp_path: Path, one: Unserved) -> None:
    answers, said = call(service, tmp_path, LINKED, *one.entries, *one.entries)
    assert answers == [str(one.status)] * 2 * len(one.entries)
    expected = [f"jitc: {name} is not supported: {one.title} is not served: {one.instead}" for name in one.entries]
    assert said.splitlines() == expected


@pytest.mark.parametrize("one", UNSERVED, ids=lambda one: one.title)
def test_the_real_library_has_these_functions(one: Unserved) -> None:
    library = wheel(one.library)
    if library is None:
        pytest.skip(f"{one.library} is not installed")
    missing = set(one.entries) - defined(library)
    assert missing <= {"cusolverMgCreate"}  # in a library of its own


def loaded(one: Unserved) -> list[str]:
    """The files that it needs, and itself."""
    files = [wheel(name) for name in (*NEEDED.get(one.library, ()), one.library)]
    if not all(files):
        pytest.skip(f"{one.library} is not installed")
    return list(map(str, files))


@pytest.mark.parametrize("one", UNSERVED, ids=lambda one: one.title)
def test_a_library_that_is_looked_into_is_named(service: Service, tmp_path: Path, one: Unserved) -> None:
    name = one.entries[0]
    answers, said = call(service, tmp_path, LOOKED_UP, *loaded(one), name)
    assert answers == [str(one.status)]
    assert said == f"jitc: {name} is not supported: {one.title} is not served: {one.instead}\n"


@pytest.mark.parametrize("library", ["libcusolver", "libcusparse", "libcusparseLt", "libcurand", "libcupti"])
def test_a_library_that_is_called_past_us_is_named(service: Service, tmp_path: Path, library: str) -> None:
    """Its own CUDA runtime asks the driver for what only NVIDIA knows."""
    [one] = [one for one in UNSERVED if one.library == library]
    answers, said = call(service, tmp_path, LOOKED_UP_PAST_US, *loaded(one), one.entries[0])
    assert answers[-1] != "0"
    assert (
        f"jitc: cuGetExportTable is not supported: {one.title}, which called it, is not served: {one.instead}" in said
    )


def test_what_needs_no_gpu_is_left_alone(service: Service, tmp_path: Path) -> None:
    """cuRAND's generators on the host."""
    library = wheel("libcurand")
    if library is None:
        pytest.skip("libcurand is not installed")
    answers, said = call(service, tmp_path, LOOKED_UP, str(library), "curandCreateGeneratorHost")
    assert (answers, said) == (["0"], "")


def test_a_static_runtime_is_told_what_to_do(service: Service, tmp_path: Path) -> None:
    """As CuPy's wheels from version 13 on have it: the caller is no library that we know."""
    answers, said = call(service, tmp_path, LINKED, "cuGetExportTable")
    assert answers == ["801"]
    runtime = "has a CUDA runtime of its own, linked in statically: "
    assert re.search(rf"cuGetExportTable is not supported: \S+ {runtime}link it with -cudart shared", said), said


@pytest.mark.parametrize("one", STATIC_RUNTIMES, ids=lambda one: one.part)
def test_packages_with_a_static_runtime_are_known(service: Service, tmp_path: Path, one: StaticRuntime) -> None:
    folder = tmp_path / one.part.strip("/")
    folder.mkdir()
    answers, said = call(service, tmp_path, LOOKED_UP, str(asking(folder / "libcaller.so")), "call")
    assert answers == ["801"]
    assert f"libcaller.so has a CUDA runtime of its own, linked in statically: {one.instead}" in said


def test_the_drivers_own_libraries_go_on_without_a_table(service: Service, tmp_path: Path) -> None:
    """NVML asks when it starts, as accelerate and DeepSpeed have it; nothing is wrong then."""
    answers, said = call(service, tmp_path, LOOKED_UP, str(asking(tmp_path / "libnvidia-ml.so.1")), "call")
    assert (answers, said) == (["801"], "")


def asking(library: Path) -> Path:
    """A library whose `call` asks the driver for what a CUDA runtime asks for."""
    source = (
        "int cuGetExportTable(void **, void *); int call(void) { void *t = 0; return cuGetExportTable(&t, 0) + 0; }"
    )
    build = ["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", str(library)]
    subprocess.run(build, input=source.encode(), check=True, timeout=60)
    return library


#: Looks a function up by its version, which is not served.
PAST = """
import ctypes, sys
loader, library = ctypes.CDLL(None), ctypes.CDLL(sys.argv[1])
loader.dlvsym.restype = ctypes.c_void_p
found = loader.dlvsym(ctypes.c_void_p(library._handle), b"cudaGetDeviceCount", sys.argv[1].rpartition("/")[2].encode())
print(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(found)(ctypes.byref(ctypes.c_int())))
"""


def test_a_served_library_that_is_called_past_us_is_named(service: Service, tmp_path: Path) -> None:
    """A program cannot link NVIDIA's library in another way."""
    library = wheel("libcudart")
    if library is None:
        pytest.skip("libcudart is not installed")
    answers, said = call(service, tmp_path, PAST, str(library))
    assert answers != ["0"]
    assert f"cuGetExportTable is not supported: {library.name} was called past jitc (docs/guarantees.md" in said
