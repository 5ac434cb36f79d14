"""Devices, contexts, entry points, kernels, refusals."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p

import pytest
from api_rig import Cuda, fake_library
from interpose_types import Dim3


def test_properties_come_from_the_service(cuda: Cuda) -> None:
    prop = ctypes.create_string_buffer(1008)
    cuda.ok("cudaGetDeviceProperties", prop, 1)
    assert prop.raw.split(b"\0")[0] == b"jitc software device"
    assert prop.raw[256:272].hex() == "0123456789abcdef0123456789abcde1"
    assert int.from_bytes(prop.raw[288:296], "little") == 1 << 30
    assert (prop.raw[360], prop.raw[364]) == (9, 0)
    value = c_int()
    cuda.ok("cudaDeviceGetAttribute", byref(value), 16, 1)
    assert value.value == 4 == int.from_bytes(prop.raw[384:388], "little")
    assert cuda.cudaGetDeviceProperties(prop, 2) == 101


def test_a_real_gpu_speaks_for_itself(gpu: Cuda) -> None:
    assert gpu.jitc_device_kind() == 2
    value = c_int()
    for attribute, expected in ((16, 132), (97, 232448), (75, 9), (83, 0), (999, 0)):
        gpu.ok("cudaDeviceGetAttribute", byref(value), attribute, 1)
        assert value.value == expected
    text, device = ctypes.create_string_buffer(13), c_int()
    gpu.ok("cudaDeviceGetPCIBusId", text, 13, 1)
    assert text.value == b"0001:41:03.0"  # 13 characters, as CUDA documents it and callers count on
    gpu.ok("cudaDeviceGetByPCIBusId", byref(device), text)
    assert device.value == 1


def test_properties_have_the_layout_of_their_cuda_version(gpu: Cuda) -> None:
    for name, size, fields in (
        ("cudaGetDeviceProperties", 1008, {384: 132, 592: 0, 604: 2048, 672: 232448, 404: 131072, 408: 65536}),
        ("cudaGetDeviceProperties_v2", 1032, {348: 1980000, 388: 132, 624: 2048, 696: 232448}),
    ):
        prop = ctypes.create_string_buffer(b"x" * (size + 8), size + 8)
        gpu.ok(name, prop, 1)
        assert prop.raw[size:] == b"x" * 8
        assert int.from_bytes(prop.raw[288:296], "little") == 1 << 30
        assert {at: int.from_bytes(prop.raw[at : at + 4], "little") for at in fields} == fields


def test_the_device_is_the_threads_own(cuda: Cuda) -> None:
    cuda.ok("cudaSetDevice", 1)
    seen: list[int] = []

    def look() -> None:
        device = c_int(-1)
        cuda.ok("cudaGetDevice", byref(device))
        seen.append(device.value)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(10)
    look()
    assert seen == [0, 1]
    assert cuda.cudaSetDevice(5) == 101


def test_contexts_are_per_device(cuda: Cuda) -> None:
    contexts = [cuda.make("cuDevicePrimaryCtxRetain", device) for device in (0, 1)]
    cuda.ok("cuCtxSetCurrent", c_uint64(contexts[1]))
    device = c_int()
    cuda.ok("cuCtxGetDevice", byref(device))
    assert device.value == 1 and cuda.make("cuCtxGetCurrent") == contexts[1]
    cuda.ok("cuCtxPushCurrent_v2", c_uint64(contexts[0]))
    assert cuda.make("cuCtxPopCurrent_v2") == contexts[0] and cuda.make("cuCtxGetCurrent") == contexts[1]
    assert cuda.cuCtxSetCurrent(c_uint64(0x1000)) == 201


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ("1", [1]),
        ("1,0", [1, 0]),
        ("0,7,1", [0]),
        ("", []),
        ("-1", []),
        ("0,0", []),
        ("GPU-01234567-89ab-cdef-0123-456789abcde1", [1]),
    ],
)
def test_visible_devices(variable: str, expected: list[int]) -> None:
    program = (
        "import ctypes, sys\n"
        "lib = ctypes.CDLL(sys.argv[1]); n = ctypes.c_int(); lib.cudaGetDeviceCount(ctypes.byref(n))\n"
        "text = ctypes.create_string_buffer(32)\n"
        "for i in range(n.value):\n"
        "    lib.cudaDeviceGetPCIBusId(text, 32, i)\n"
        "    print(int(text.value.split(b':')[1], 16) - 1)\n"
    )
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": variable}
    out = subprocess.run(
        [sys.executable, "-c", program, str(fake_library())],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert [int(line) for line in out.stdout.split()] == expected


def test_the_driver_counts_once_it_is_initialized() -> None:
    """PyTorch's tests tell by this whether `import torch` has used CUDA."""
    program = (
        "import ctypes, sys\n"
        "lib = ctypes.CDLL(sys.argv[1]); n = ctypes.c_int(-1)\n"
        "ask = lambda: (lib.cuDeviceGetCount(ctypes.byref(n)), n.value)\n"
        "print(*ask(), lib.cuDeviceGet(ctypes.byref(n), 0), lib.cuInit(0), *ask())\n"
    )
    command = [sys.executable, "-c", program, str(fake_library())]
    out = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert out.stdout.split() == ["3", "-1", "3", "0", "0", "2"]


def test_entry_points_are_our_own_and_the_newest(cuda: Cuda) -> None:
    found, status = c_void_p(), c_int(-1)
    ours = ctypes.cast(cuda.library.cuMemAlloc_v2, c_void_p).value
    cuda.ok("cuGetProcAddress_v2", b"cuMemAlloc", byref(found), 13000, c_uint64(0), byref(status))
    assert (found.value, status.value) == (ours, 0)
    cuda.ok("cudaGetDriverEntryPointByVersion", b"cuMemAlloc", byref(found), 12000, c_uint64(0), byref(status))
    assert (found.value, status.value) == (ours, 0)
    assert cuda.cuGetProcAddress_v2(b"cuNoSuchThing", byref(found), 13000, c_uint64(0), byref(status)) == 500
    assert (found.value, status.value) == (None, 1)


def test_errors_have_names(cuda: Cuda) -> None:
    for name in ("cudaGetErrorName", "cudaGetErrorString"):
        getattr(cuda, name).restype = c_char_p
    assert cuda.cudaGetErrorName(2) == b"cudaErrorMemoryAllocation"
    with ThreadPoolExecutor(1) as pool:  # a thread to which nothing was refused: the text would say what
        assert pool.submit(cuda.cudaGetErrorString, 801).result() == b"operation not supported"
    assert cuda.cudaGetErrorName(12345) == b"unrecognized error code"
    text = c_char_p()
    cuda.ok("cuGetErrorName", 1, byref(text))
    assert text.value == b"CUDA_ERROR_INVALID_VALUE"
    assert cuda.cuGetErrorName(12345, byref(text)) == 1


def test_a_kernel_is_refused_by_its_registered_name(cuda: Cuda, capfd: pytest.CaptureFixture[str]) -> None:
    register = cuda.library["__cudaRegisterFatBinary"]
    register.restype = c_void_p
    binary = c_void_p(register(c_void_p(0)))
    host = ctypes.create_string_buffer(1)
    nothing = c_void_p(0)
    cuda.library["__cudaRegisterFunction"](
        binary, host, b"d", b"_Z10my_kernel_Pf", -1, nothing, nothing, nothing, nothing, nothing
    )
    kernel, size = c_uint64(), Dim3(1, 1, 1)
    assert cuda.library["__cudaGetKernel"](byref(kernel), host) == 0
    launch = cuda.library["__cudaLaunchKernel"]
    assert launch(kernel, size, size, nothing, c_size_t(0), c_uint64(0)) == 801
    assert launch(kernel, size, size, nothing, c_size_t(0), c_uint64(0)) == 801
    said = capfd.readouterr().err
    assert said.count("my_kernel_") == said.count("\n") == 1 and "Use a GPU" in said
    for name in ("cudaGetErrorString", "cudaGetErrorName"):
        getattr(cuda, name).restype = c_char_p
    text = cuda.cudaGetErrorString(801)  # PyTorch raises it
    assert text.startswith(b"operation not supported: ") and b" this is one: my_kernel_. Use a GPU" in text
    driver_text = c_char_p()
    cuda.ok("cuGetErrorString", 801, byref(driver_text))
    assert driver_text.value == text
    assert cuda.cudaGetErrorName(801) == b"cudaErrorNotSupported"
    cuda.library["__cudaUnregisterFatBinary"](binary)
    assert cuda.cudaFuncGetName(byref(c_char_p()), host) == 98


def test_a_refused_function_says_once_what_to_do(cuda: Cuda, capfd: pytest.CaptureFixture[str]) -> None:
    assert [cuda.cudaMallocManaged() for _ in range(3)] == [801] * 3
    assert cuda.cudaGetLastError() == 801
    assert (cuda.ncclCommShrink(), cuda.cublasSaxpy_v2(), cuda.cuMemExportToShareableHandle()) == (5, 15, 801)
    lines = capfd.readouterr().err.splitlines()
    cuda.cudaGetErrorString.restype = c_char_p
    assert b": cuMemExportToShareableHandle is not supported: " in cuda.cudaGetErrorString(801)  # the last one
    assert len(lines) == 4 and "cudaMallocManaged" in lines[0] and "pinned memory" in lines[0]
