"""Runs the cases of the native test program of the cuda device (native/) on the fake driver and NCCL.

Each case is a process of its own; the fake's log of calls tells what was leaked.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from toolkit.fake_leaks import leaks
from toolkit.fakes import FakeCall, fake_calls, fake_environment, wheel_library
from toolkit.native_program import TIMEOUT, NativeProgram, listed_cases, run_case

from jitc.proxy.backends.cuda import libraries

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
pytestmark = TIMEOUT
#: A context that is lost takes everything with it; so does a process that ends in the middle.
LOSES_ALL = (
    "kernel_that_fails",
    "fault_sticky",
    "fault_hung",
    "fault_a_dispatcher",
    "collective_fault_a_rank_dies",
    "collective_fault_an_abort_that_hangs",
    "transfer_abort_that_hangs",
    "copier_a_copy_that_fails",
)


def cuda_headers() -> Path | None:
    """Where a wheel brought cuda.h along."""
    found = [Path(folder) / "nvidia" / "cu13" / "include" for folder in sys.path]
    return next((folder for folder in found if (folder / "cuda.h").exists()), None)


PROGRAM = NativeProgram("jitc_cuda_test", HERE / "native")
#: What both devices do; some of its cases have a log that must say how the cuda device does it.
SHARED = NativeProgram("jitc_conformance_test", HERE.parent / "conformance")


@pytest.fixture(scope="session")
def program() -> Path:
    return PROGRAM.build()


@pytest.fixture(scope="session")
def shared() -> Path:
    return SHARED.build()


#: A case that looks at device memory while a stream writes it, on purpose: ThreadSanitizer sees it too.
RACING = "stream_results_come_in_the_order_of_the_work_on_all_streams"


def run(program: Path, case: str, log: Path, **environ: str) -> list[FakeCall]:
    options = os.environ.get("TSAN_OPTIONS", "") + (":report_bugs=0" if case == RACING else "")
    environment = {"TSAN_OPTIONS": options, "JITC_TEST_DEVICE": "cuda"}
    run_case(program, case, fake_environment(log) | environment | environ)
    return [call for call in fake_calls(log) if not call.runs]


def marked_streams(calls: list[FakeCall]) -> set[Any]:
    return {call.args["stream"] for call in calls if call.name == "cuStreamWriteValue64_v2"}


def test_program_has_the_cases_that_are_listed_here(program: Path) -> None:
    assert listed_cases(program) == PROGRAM.cases()
    assert len(PROGRAM.cases()) > 50


@pytest.mark.parametrize("case", [one for one in PROGRAM.cases() if not one.startswith("real_")])
def test_case(program: Path, case: str, tmp_path: Path) -> None:
    calls = run(program, case, tmp_path / "log")
    # NCCL is never told to abort while a thread is inside it.
    assert all(call.args["others_inside"] == 0 for call in calls if call.name == "ncclCommAbort")
    if not case.startswith(LOSES_ALL):
        assert not leaks(calls)


@pytest.mark.skipif(
    wheel_library(libraries.candidates("nvrtc")) is None,
    reason="libnvrtc is not installed (pip install nvidia-cuda-nvrtc)",
)
def test_real_nvrtc_compiles_the_hash_kernel(program: Path) -> None:
    """For compute capabilities 8.0, 9.0 and 10.0; no GPU is needed for that."""
    env = fake_environment() | {"JITC_TEST_REAL_NVRTC": str(wheel_library(libraries.candidates("nvrtc")))}
    run_case(program, "real_compiler_makes_the_kernel", env)


def test_many_blocks_are_hashed_in_one_launch(program: Path, tmp_path: Path) -> None:
    calls = run(program, "hash_of_many_blocks_is_one_launch", tmp_path / "log")
    (launch,) = [call.args for call in calls if call.name == "cuLaunchKernelEx"]
    pieces = sum(-(-number * 40_000 // (128 << 10)) for number in range(20) if number != 7)
    parameters = bytes.fromhex(launch["parameters"])
    table, count, found, sums = struct.unpack("<QIxxxxQQ", parameters)
    assert (launch["kernel"], count, found) == ("jitc_hash", 18, pieces)  # one is not allocated, one is empty
    grid, block = struct.unpack("<I8xI", bytes.fromhex(launch["shape"])[:16])
    assert (grid, block) == (-(-pieces // 8), 256)
    (allocated,) = [call.args for call in calls if call.name == "cuMemAlloc_v2"]
    assert table == int(allocated["out"], 16) and sums == table + 8192 * 24
    sent = [call.args for call in calls if call.name == "cuMemcpyHtoDAsync_v2" and call.args["to"] == allocated["out"]]
    assert [one["size"] for one in sent] == [18 * 24]
    first = struct.unpack_from("<QQQ", bytes.fromhex(sent[0]["bytes"]), 24)
    assert first[1:] == (80_000, 1)  # 40 000 bytes before it: one piece
    # No content of the blocks comes to the host.
    assert [call.args["size"] for call in calls if call.name == "cuMemcpyDtoHAsync_v2"] == [18 * 16]


def ptxas() -> Path | None:
    """NVIDIA's assembler, which Triton brings along."""
    found = [Path(folder) / "triton" / "backends" / "nvidia" / "bin" / "ptxas" for folder in sys.path]
    return next((path for path in found if path.exists()), None)


@pytest.mark.skipif(ptxas() is None, reason="there is no ptxas (pip install triton)")
@pytest.mark.parametrize("gpu", ["sm_75", "sm_90", "sm_100"])
def test_fault_kernels_can_be_translated(gpu: str, tmp_path: Path) -> None:
    source = (ROOT / "proxy" / "native" / "device" / "cuda" / "faults" / "fault_kernels.cpp").read_text()
    (tmp_path / "fault_kernels.ptx").write_text(source.split('R"ptx(')[1].split(')ptx"')[0])
    command = [str(ptxas()), f"--gpu-name={gpu}", "fault_kernels.ptx", "-o", "fault_kernels.cubin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    code = (tmp_path / "fault_kernels.cubin").read_bytes()
    assert b"jitc_illegal_access" in code and b"jitc_endless_kernel" in code


@pytest.mark.skipif(cuda_headers() is None, reason="cuda.h is not installed (pip install nvidia-cuda-runtime)")
def test_declarations_are_those_of_the_real_header(program: Path) -> None:
    checked = program.parent / "unit" / "device" / "cuda" / "native" / "CMakeFiles" / "jitc_cuda_check.dir"
    assert list(checked.rglob("abi_check.cpp.o"))  # it compiles only when they are


def test_injected_faults_are_machine_code_where_there_is_a_compiler(program: Path, tmp_path: Path) -> None:
    """The driver's own compiler is a library that containers may lack."""
    calls = run(program, "fault_sticky_illegal_access_on_request", tmp_path / "log")
    compiled = [call.args["name"] for call in calls if call.name == "nvrtcCreateProgram"]
    assert sorted(compiled) == ["fault_kernels.cu", "hash_kernel.cu"]
    assert sum(call.name == "cuModuleLoadData" for call in calls) == 1
    calls = run(program, "fault_sticky_without_a_compiler", tmp_path / "other")
    assert not [call for call in calls if call.name == "nvrtcCreateProgram"]
    assert sum(call.name == "cuModuleLoadData" and call.result == 0 for call in calls) == 1


def test_flags_and_priorities_reach_the_driver(program: Path, tmp_path: Path) -> None:
    calls = run(program, "stream_priorities_and_flags_reach_the_driver", tmp_path / "log")
    made = [call.args for call in calls if call.name == "cuStreamCreateWithPriority"]
    assert [(one["flags"], one["priority"]) for one in made] == [(1, -2), (0, 0)]


def test_memory_lies_where_the_client_wants_it(shared: Path, tmp_path: Path) -> None:
    calls = run(shared, "restore_in_a_fresh_device_puts_everything_back", tmp_path / "log")
    reserved = [call.args for call in calls if call.name == "cuMemAddressReserve"]
    assert len(reserved) == 1 and reserved[0]["wanted"] == reserved[0]["out"]
    mapped = [
        int(str(call.args["address"]), 16) - int(str(reserved[0]["out"]), 16)
        for call in calls
        if call.name == "cuMemMap"
    ]
    assert mapped == [0, 4 * (2 << 20)]


def test_pinned_memory_is_registered_for_all_and_mapped(shared: Path, tmp_path: Path) -> None:
    calls = run(shared, "pinned_ranges_are_those_of_the_state_that_comes_back", tmp_path / "log")
    registered = [call.args for call in calls if call.name == "cuMemHostRegister_v2"]
    first = int(str(registered[0]["address"]), 16)
    assert [int(str(one["address"]), 16) - first for one in registered] == [0, 8192, 16384]
    assert {(one["size"], one["flags"]) for one in registered} == {(4096, 3)}  # PORTABLE | DEVICEMAP
    given_back = [int(str(call.args["address"]), 16) - first for call in calls if call.name == "cuMemHostUnregister"]
    assert given_back == [0, 8192, 16384]  # the first by the restore, the second not made again


def test_results_are_copied_to_the_programs_memory_by_the_gpu(shared: Path, tmp_path: Path) -> None:
    calls = run(shared, "pinned_results_are_written_and_hashed", tmp_path / "log")
    pinned = next(int(str(call.args["address"]), 16) for call in calls if call.name == "cuMemHostRegister_v2")
    copies = [int(str(call.args["to"]), 16) for call in calls if call.name == "cuMemcpyDtoHAsync_v2"]
    assert copies[0] == pinned + 5


def test_a_run_of_ops_costs_few_marks(shared: Path, tmp_path: Path) -> None:
    """200 fills and one synchronize: a mark per 32 ops, and one that somebody waits for."""
    calls = run(shared, "stream_ops_run_in_order", tmp_path / "log")
    assert sum(call.name == "cuStreamWriteValue64_v2" for call in calls) == 200 // 32 + 1


def test_every_op_has_a_mark_where_that_is_asked_for(shared: Path, tmp_path: Path) -> None:
    """For diagnosis (driver/diagnosis.h); streams of a capture are left alone even so."""
    each = {"JITC_MARK_EVERY_OP": "1"}
    calls = run(shared, "stream_ops_run_in_order", tmp_path / "log", **each)
    assert sum(call.name == "cuStreamWriteValue64_v2" for call in calls) >= 200
    calls = run(shared, "graph_capture_leaves_other_work_alone", tmp_path / "capture", **each)
    captured = {call.args["stream"] for call in calls if call.name == "cuStreamBeginCapture_v2"}
    assert captured and not captured & marked_streams(calls)


def test_nothing_of_a_boundary_is_registered_where_that_is_asked_for(program: Path, tmp_path: Path) -> None:
    """For diagnosis; the same bytes arrive."""
    case, registers = "copier_blocks_arrive_also_across_windows", "cuMemHostRegister_v2"
    usual = Counter(call.name for call in run(program, case, tmp_path / "log"))
    plain = Counter(call.name for call in run(program, case, tmp_path / "plain", JITC_PLAIN_COPIES="1"))
    assert usual[registers] - plain[registers] == 3  # the windows of the arena


def test_launches_reach_the_driver_byte_for_byte(program: Path, tmp_path: Path) -> None:
    """Parameters, shape and attributes of a launch; odd structures and what lies between them too."""
    calls = run(program, "kernel_parameters_arrive_as_they_are_laid_out", tmp_path / "log")
    launch = next(call.args for call in calls if call.name == "cuLaunchKernelEx")
    assert launch["kernel"] == "struct_args" and launch["attributes"] == ""
    assert launch["parameters"][:32] == "07" + "70110100" + "0000000000010000" + "ffffff"
    calls = run(program, "kernel_shape_and_attributes_reach_the_driver", tmp_path / "other")
    launch = next(call.args for call in calls if call.name == "cuLaunchKernelEx")
    assert launch["shape"] == "".join(value.to_bytes(4, "little").hex() for value in (5, 4, 3, 32, 2, 1, 1024))
    attributes = bytes.fromhex(launch["attributes"])
    assert [attributes[at] for at in (0, 72, 144)] == [2, 4, 8]  # id, value, end of the value
    assert [attributes[at + 8] for at in (0, 72, 144)] == [1, 1, 3]
    assert [attributes[at + 71] for at in (0, 72, 144)] == [0x5A] * 3


def test_a_capture_does_not_touch_the_streams_of_the_program(shared: Path, tmp_path: Path) -> None:
    """Marks go on where they were: none is captured, none is put on a stream that captures."""
    calls = run(shared, "graph_capture_leaves_other_work_alone", tmp_path / "log")
    captured = {call.args["stream"] for call in calls if call.name == "cuStreamBeginCapture_v2"}
    marked = marked_streams(calls)
    assert len(captured) == 1 and marked and not captured & marked
    ended = next(call for call in calls if call.name == "cuStreamEndCapture")
    assert ended.args["nodes"] == 2


def test_a_direct_transfer_is_a_few_groups_of_messages(program: Path, tmp_path: Path) -> None:
    """599 blocks with content: groups of at most 512, on both ends, and a communicator that is closed in order."""
    calls = Counter(call.name for call in run(program, "transfer_blocks_move_and_nothing_else", tmp_path / "log"))
    assert (calls["ncclSend"], calls["ncclRecv"], calls["ncclGroupStart"]) == (599, 599, 2 * 2)
    assert (calls["ncclCommDestroy"], calls["ncclCommAbort"]) == (2, 0)


def test_a_cublas_call_runs_with_the_modes_and_workspace_of_its_handle(program: Path, tmp_path: Path) -> None:
    calls = run(program, "blas_modes_and_workspaces_reach_the_library", tmp_path / "log")
    products = [call.args for call in calls if call.name == "cublasSgemm_v2"]
    seen = [(one["math_mode"], one["atomics_mode"], one["workspace_bytes"]) for one in products]
    of_the_library, own = 0, 2 << 20
    assert seen == [(0, 0, 0), (3, 1, own), (3, 1, own), (0, 0, 0), (3, 1, of_the_library), (3, 1, 0)]
    assert len({one["workspace"] for one in products[1:3]}) == 1
    assert len({one["stream"] for one in products}) == 3
    told = [call.args["bytes"] for call in calls if call.name == "cublasSetWorkspace_v2"]
    assert told == [own, own, 0]  # to use none is told; to use its own again the library is given its stream again
    assert sum(call.name == "cublasSetStream_v2" for call in calls) == 5


def test_objects_of_a_cublaslt_product_are_kept(program: Path, tmp_path: Path) -> None:
    """5 equal products and 600 others: one set of objects each, not more than 512 at a time."""
    calls = Counter(call.name for call in run(program, "lt_objects_are_kept_by_their_description", tmp_path / "log"))
    assert calls["cublasLtMatmul"] == 605 and calls["cublasLtCreate"] == calls["cublasLtDestroy"] == 1
    for one, count in {"MatmulDesc": 1, "MatrixLayout": 4}.items():
        assert calls[f"cublasLt{one}Create"] == calls[f"cublasLt{one}Destroy"] == 601 * count


def test_cudnn_objects_are_made_once(program: Path, tmp_path: Path) -> None:
    """Ten equal plans: one set of descriptors, and one answer of the heuristics' that they are chosen from."""
    calls = run(program, "dnn_objects_are_kept_by_their_content", tmp_path / "log")
    made = Counter(call.args["type"] for call in calls if call.name == "cudnnBackendCreateDescriptor")
    tensor, plan, configuration = 17, 5, 3
    assert (made[tensor], made[plan], made[configuration]) == (3, 1, 4)
    assert sum(call.name == "cudnnBackendGetAttribute" for call in calls) == 1


@pytest.mark.skipif(
    wheel_library(libraries.candidates("cudnn")) is None,
    reason="libcudnn is not installed (pip install nvidia-cudnn-cu13)",
)
def test_real_cudnn_takes_descriptors(program: Path) -> None:
    """Through the worker's code: what clients describe, and the functions that it calls for that. No GPU is needed."""
    cudnn = wheel_library(libraries.candidates("cudnn"))
    assert cudnn is not None
    env = fake_environment() | {"JITC_TEST_REAL_CUDNN": str(cudnn)}
    if "JITC_TEST_BUILD" in os.environ:
        # A sanitizer loads libraries in the program's place: the folder that cuDNN names for its parts is not seen.
        env["LD_LIBRARY_PATH"] = str(cudnn.parent)
    run_case(program, "real_cudnn_takes_descriptors", env)
