"""What a program sets and the device does not get to know: kept, refused, or named on standard error."""

from __future__ import annotations

from ctypes import addressof, byref, c_char, c_int, c_int32, c_size_t, c_uint64, c_void_p, create_string_buffer

import pytest
from api_rig import Cuda

INVALID_VALUE, UNSUPPORTED_LIMIT = 1, 215
STACK, HEAP, DEPTH, L2_FETCH = 0, 2, 3, 5
SYNC_POLICY = 3


def limit(cuda: Cuda, number: int) -> int:
    value = c_size_t(99)
    cuda.ok("cudaDeviceGetLimit", byref(value), number)
    return value.value


def test_limits_are_those_that_the_device_keeps(gpu: Cuda) -> None:
    """A program that sets none is told CUDA's documented defaults."""
    assert [limit(gpu, number) for number in range(7)] == [1024, 1 << 20, 8 << 20, 2, 2048, 64, 0]
    gpu.take()
    gpu.ok("cudaDeviceSetLimit", STACK, c_size_t(4001))
    (told,) = gpu.take()
    assert (told.name, told.fields["limit"], told.fields["value"]) == ("limit_set", STACK, 4001)
    assert limit(gpu, STACK) == 4016  # as the device rounds it
    gpu.ok("cuCtxSetLimit", L2_FETCH, c_size_t(128))
    assert (limit(gpu, L2_FETCH), limit(gpu, HEAP)) == (128, 8 << 20)
    assert gpu.cudaDeviceGetLimit(byref(c_size_t()), 7) == UNSUPPORTED_LIMIT
    assert gpu.cudaDeviceSetLimit(-1, c_size_t(1)) == UNSUPPORTED_LIMIT
    assert gpu.cudaDeviceSetLimit(DEPTH, c_size_t(4)) == UNSUPPORTED_LIMIT
    assert limit(gpu, DEPTH) == 2


def test_flags_of_a_device_are_kept(gpu: Cuda, capfd: pytest.CaptureFixture[str]) -> None:
    flags, active = c_int(), c_int()
    gpu.ok("cudaSetDeviceFlags", 4 | 8)  # blocking waits, mapped host memory: as CUDA gives them back
    gpu.ok("cudaGetDeviceFlags", byref(flags))
    assert flags.value == 12
    gpu.ok("cuCtxGetFlags", byref(flags))
    assert flags.value == 12
    gpu.ok("cuDevicePrimaryCtxSetFlags_v2", 1, 1)
    gpu.ok("cuDevicePrimaryCtxGetState", 1, byref(flags), byref(active))
    assert flags.value == 1
    assert "no effect" not in capfd.readouterr().err
    for bad in (3, 6, 0x20, 0x100):
        assert gpu.cudaSetDeviceFlags(bad) == INVALID_VALUE
    gpu.ok("cudaSetDeviceFlags", 128)
    assert "cudaDeviceSyncMemops" in capfd.readouterr().err
    for device in (0, 1):
        gpu.ok("cuDevicePrimaryCtxSetFlags_v2", device, 0)


def test_attributes_of_streams_are_named(gpu: Cuda, capfd: pytest.CaptureFixture[str]) -> None:
    stream, value = gpu.make("cudaStreamCreate"), create_string_buffer(64)
    gpu.ok("cudaStreamSetAttribute", c_uint64(stream), SYNC_POLICY, value)
    expected = "cudaStreamSetAttribute(3) has no effect: the synchronization policy of streams stays as it is"
    assert expected in capfd.readouterr().err
    assert gpu.cudaStreamSetAttribute(c_uint64(stream), 77, value) == INVALID_VALUE
    assert gpu.cudaStreamSetAttribute(c_uint64(stream), SYNC_POLICY, None) == INVALID_VALUE
    assert gpu.cudaStreamSetAttribute(c_uint64(stream + 2), SYNC_POLICY, value) == 400
    gpu.ok("cudaStreamDestroy", c_uint64(stream))


@pytest.mark.parametrize("load", ["cuModuleLoadDataEx", "cuLibraryLoadData"])
def test_options_of_the_compiler_are_answered(gpu: Cuda, capfd: pytest.CaptureFixture[str], load: str) -> None:
    """Logs are empty, and an option that would change the code is named."""
    info, error = create_string_buffer(b"x" * 15), create_string_buffer(b"y" * 15)
    options = (c_int32 * 6)(3, 4, 5, 6, 2, 0)
    values = (c_void_p * 6)(addressof(info), 16, addressof(error), 16, 123, 32)
    text, handle = create_string_buffer(b".version 8.0\n"), c_uint64()
    if load == "cuModuleLoadDataEx":
        gpu.cuModuleLoadDataEx(byref(handle), text, 6, options, values)
    else:
        gpu.cuLibraryLoadData(byref(handle), text, options, values, 6, None, None, 0)
    assert (info.value, error.value) == (b"", b"")
    assert list(values)[1:5:2] == [None, None] and values[4] is None
    assert f"option 0 of {load} has no effect" in capfd.readouterr().err


def test_a_log_without_room_is_not_written_to(gpu: Cuda) -> None:
    info = (c_char * 4)(*b"keep")
    options, values = (c_int32 * 2)(3, 4), (c_void_p * 2)(addressof(info), 0)
    gpu.cuModuleLoadDataEx(byref(c_uint64()), create_string_buffer(b".version 8.0\n"), 2, options, values)
    assert info.raw == b"keep"


def test_the_thousandth_message_is_not_the_last_one(gpu: Cuda, capfd: pytest.CaptureFixture[str]) -> None:
    """A program that runs for weeks is told of many things, and at its end why it ends."""
    text, handle, values = create_string_buffer(b".version 8.0\n"), c_uint64(), (c_void_p * 1)(32)
    for option in range(100, 1200):
        for _ in range(2):
            gpu.cuModuleLoadDataEx(byref(handle), text, 1, (c_int32 * 1)(option), values)
    said = [line for line in capfd.readouterr().err.splitlines() if "has no effect" in line]
    assert len(said) == 1100, "each of them, once"
