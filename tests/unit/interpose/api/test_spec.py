"""The specification, what is generated from it, and what the library exports."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from api_rig import ROOT, fake_library
from interpose_symbols import defined, undefined

from jitc.interpose.generator import __main__ as generator
from jitc.interpose.generator.wrappers_visitor import APIS
from jitc.interpose.spec.api import Function, Local, argument
from jitc.interpose.spec.loader import LOADER
from jitc.interpose.spec.unserved import UNSERVED

LIBRARY = ROOT / "interpose" / "lib" / "libjitc_interpose.so"
FUNCTIONS = {f.name: f for api in APIS for f in api.functions}
ENTRIES = {name for one in UNSERVED for name in one.entries}
HEADERS = [
    ROOT / "interpose" / "include" / "jitc" / f"{name}.h"
    for name in ("client_api", "gpu_questions", "host_kernel", "kernel_server")
]
CLIENT_API = {name for one in HEADERS for name in re.findall(r"JITC_API [\w ]+?\*? ?(jitc_\w+)\(", one.read_text())}


def test_exported_symbols_equal_the_spec() -> None:
    assert LIBRARY.exists(), "not built: run `make build`"
    assert defined(LIBRARY) == set(FUNCTIONS) | CLIENT_API | ENTRIES | set(LOADER)


def test_everything_that_pytorch_needs_is_there() -> None:
    spec = importlib.util.find_spec("torch")
    assert spec and spec.submodule_search_locations
    libraries = sorted((Path(spec.submodule_search_locations[0]) / "lib").glob("*.so"))
    ours = re.compile(r"^(cuda|__cuda|cu[A-Z]|nccl|cublas)")
    needed = {name for library in libraries for name in undefined(library) if ours.match(name)}
    assert len(needed) > 300  # else the pattern or the wheel has changed
    assert {name for name in needed if not name.startswith("cuFile")} <= set(FUNCTIONS)


#: What newer releases' TunableOp, which is off unless asked for, chooses algorithms with.
TUNABLE_OP = {
    "cublasLtMatmulAlgoCheck", "cublasLtMatmulAlgoConfigGetAttribute", "cublasLtMatmulAlgoConfigSetAttribute",
    "cublasLtMatmulAlgoInit",
}  # fmt: skip


def test_a_gpu_serves_every_cublas_function_that_libtorch_cuda_needs() -> None:
    spec = importlib.util.find_spec("torch")
    assert spec and spec.submodule_search_locations
    library = Path(spec.submodule_search_locations[0]) / "lib" / "libtorch_cuda.so"
    needed = {name for name in undefined(library) if name.startswith("cublas")}
    assert len(needed) > 60
    refused = {name for name in needed if FUNCTIONS[name].policy == "Unsupported"}
    assert refused <= TUNABLE_OP


def test_everything_that_cudnn_exports_is_there() -> None:
    """A missing name would be found in the libcudnn that PyTorch has loaded, and run on no GPU."""
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(place) / "cudnn/lib" for place in spec.submodule_search_locations or ()] if spec else []
    library = next((one for folder in folders if (one := folder / "libcudnn.so.9").exists()), None)
    if not library:
        pytest.skip("the wheel's libcudnn.so.9 is not here")
    exported = {name for name in defined(library) if name.startswith("cudnn")}
    assert len(exported) > 200
    assert exported <= defined(LIBRARY)


def test_driver_symbols_that_pytorch_looks_up_by_name_are_there() -> None:
    names = {name.removesuffix(suffix) for name in FUNCTIONS for suffix in ("", "_v2", "_v3", "_v4")}
    wanted = (
        "cuCtxFromGreenCtx cuCtxGetCurrent cuCtxPopCurrent cuCtxPushCurrent cuCtxSetCurrent "
        "cuDevResourceGenerateDesc cuDevSmResourceSplitByCount cuDeviceGet cuDeviceGetAttribute "
        "cuDeviceGetDevResource cuGetErrorString cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxStreamCreate "
        "cuMemAddressFree cuMemAddressReserve cuMemCreate cuMemExportToShareableHandle "
        "cuMemGetAllocationGranularity cuMemGetAllocationPropertiesFromHandle cuMemImportFromShareableHandle "
        "cuMemMap cuMemRelease cuMemRetainAllocationHandle cuMemSetAccess cuMemUnmap cuMemsetD32Async "
        "cuMulticastAddDevice cuMulticastBindMem cuMulticastCreate cuMulticastUnbind cuStreamWriteValue32 "
    )
    assert set(wanted.split()) <= names


def test_nothing_heavy_is_linked() -> None:
    out = subprocess.run(["readelf", "-d", str(LIBRARY)], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.+?)\]", out))
    assert needed <= {
        "libc.so.6",
        "libm.so.6",
        "libdl.so.2",
        "libgcc_s.so.1",  # the unwinder: scripts/portable/portable.cmake says why it is not linked in
        "libpthread.so.0",
        "ld-linux-x86-64.so.2",
        "ld-linux-aarch64.so.1",
    }
    assert "Library soname: [libcuda.so.1]" in out


def test_a_served_like_function_has_the_same_abi() -> None:
    for function in FUNCTIONS.values():
        if function.like:
            model = FUNCTIONS[function.like]
            sizes = [[re.sub(r"^const |.*\*$", "pointer", a.cpp) for a in f.args] for f in (function, model)]
            assert sizes[0] == sizes[1] and function.returns == model.returns, function.name


def test_policies_agree_with_their_ops() -> None:
    for function in FUNCTIONS.values():
        if function.policy in ("Op", "Sync"):
            assert function.ops, function.name
        if function.policy in ("Local", "Unsupported"):
            assert not function.ops, function.name
        if function.policy == "Unsupported":
            assert function.note and not function.args, function.name


@pytest.mark.parametrize("text", ["count size", "sideways x: int", "x: nothing", "x: bytes"])
def test_a_wrong_argument_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not an argument|needs a direction"):
        argument(text)


def test_an_unknown_op_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown op"):
        Function("f", ops="no_such_op")
    with pytest.raises(ValueError, match="listed twice"):
        type(APIS[0])("x", "x", "x", "x", 1, (Local("f"), Local("f")))


def test_generated_files_are_up_to_date_and_do_not_change() -> None:
    assert generator.main(["--check"]) == 0
    for make in generator.OUTPUTS.values():
        assert make() == make()


def test_check_notices_an_edited_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generator, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "cli.md", tmp_path / "docs")  # of which only a part is generated
    assert generator.main([]) == 0
    capsys.readouterr()
    assert generator.main(["--check"]) == 0
    with (tmp_path / "docs/coverage.md").open("a") as file:
        file.write("edited\n")
    assert generator.main(["--check"]) == 1
    assert capsys.readouterr().out.splitlines() == ["out of date: docs/coverage.md"]


def test_every_function_is_in_the_coverage_table() -> None:
    text = (ROOT / "docs" / "coverage.md").read_text()
    assert [name for name in FUNCTIONS if f"`{name}`" not in text] == []


def test_the_fake_exports_the_same_functions() -> None:
    extra = defined(fake_library()) - defined(LIBRARY)
    assert extra and all(name.startswith("jitc_fake_") for name in extra)


def run_preloaded(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**os.environ, "LD_PRELOAD": str(LIBRARY), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_program_without_cuda_does_not_notice(tmp_path: Path) -> None:
    socket = tmp_path / "no.sock"
    program = (
        "import os\n"
        "folder = '/proc/self/fd/'\n"
        "links = [os.readlink(folder + fd) for fd in os.listdir(folder) if os.path.lexists(folder + fd)]\n"
        "maps = open('/proc/self/maps').read()\n"
        "print(len(os.listdir('/proc/self/task')), sum(link.startswith('socket') for link in links),"
        " 'libjitc_transport' in maps, 'libjitc_interpose' in maps)\n"
    )
    out = run_preloaded(sys.executable, "-S", "-c", program, JITC_SOCKET=str(socket))
    assert (out.stdout.split(), out.stderr) == (["1", "0", "False", "True"], "")
    out = run_preloaded("/bin/true", JITC_SOCKET=str(socket))
    assert (out.returncode, out.stdout, out.stderr) == (0, "", "")


def test_the_library_serves_as_libcuda() -> None:
    program = "import ctypes; print(hasattr(ctypes.CDLL('libcuda.so.1'), 'jitc_device_kind'))"
    assert run_preloaded(sys.executable, "-c", program).stdout.strip() == "True"


def test_without_a_service_there_are_no_gpus_and_one_message(tmp_path: Path) -> None:
    socket = tmp_path / "no.sock"
    program = (
        "import ctypes; lib = ctypes.CDLL('libcuda.so.1'); n = ctypes.c_int(7); p = ctypes.c_void_p()\n"
        "print(lib.cudaGetDeviceCount(ctypes.byref(n)), n.value, lib.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(8)))\n"
    )
    out = run_preloaded(sys.executable, "-c", program, JITC_SOCKET=str(socket))
    assert out.stdout.split() == ["100", "0", "100"]
    assert len(out.stderr.splitlines()) == 1 and str(socket) in out.stderr and "jitc-proxyd" in out.stderr
