"""Names that only CUDA 12 has, and those for per-thread default streams."""

from __future__ import annotations

import ctypes
import importlib.util
from ctypes import byref, c_float, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path

import pytest
from api_rig import Cuda
from interpose_symbols import defined

from jitc.interpose.generator.wrappers_visitor import APIS
from jitc.interpose.spec.cudart import cuda12
from jitc.interpose.spec.device import properties

FUNCTIONS = {f.name: f for f in APIS[0].functions}


class ChannelDesc(ctypes.Structure):
    _fields_ = tuple((name, c_int) for name in "xyzwf")


def test_they_are_served_by_the_same_functions() -> None:
    for name in cuda12.CUDA12:
        assert name in FUNCTIONS
    variants = [name for name in FUNCTIONS if name.endswith(cuda12.PER_THREAD_SUFFIXES)]
    assert len(variants) > 70
    for name in variants:
        base = FUNCTIONS[name.rpartition("_")[0]]
        assert (FUNCTIONS[name].policy, FUNCTIONS[name].args) == (base.policy, base.args)


def test_a_stream_of_its_own_is_the_common_one(gpu: Cuda) -> None:
    memory, data = gpu.malloc(64), c_uint64(9)
    gpu.take()
    gpu.ok("cudaMemcpyAsync_ptsz", c_uint64(memory), byref(data), c_size_t(8), 1, c_uint64(0))
    gpu.ok("cudaMemcpy_ptds", c_uint64(memory), byref(data), c_size_t(8), 1)
    gpu.ok("cudaMemsetAsync_ptsz", c_uint64(memory), 0, c_size_t(8), c_uint64(0))
    gpu.ok("cudaStreamSynchronize_ptsz", c_uint64(0))
    assert [(op.name, op.stream) for op in gpu.take()] == [
        ("copy_h2d", 0), ("stream_synchronize", 0), ("copy_h2d", 0), ("fill", 0), ("stream_synchronize", 0),
    ]  # fmt: skip
    assert gpu.cudaStreamAttachMemAsync_ptsz() == 801


def test_old_names_of_events_threads_and_channels(gpu: Cuda) -> None:
    first, second = gpu.make("cudaEventCreate"), gpu.make("cudaEventCreate")
    for event in (first, second):
        gpu.ok("cudaEventRecord_ptsz", c_uint64(event), c_uint64(0))
    elapsed = c_float()
    for name in ("cudaEventElapsedTime_v2", "cuEventElapsedTime"):
        gpu.ok(name, byref(elapsed), c_uint64(first), c_uint64(second))
        assert elapsed.value == 1.5
    gpu.ok("cudaThreadSynchronize")
    gpu.library.cudaCreateChannelDesc.restype = ChannelDesc
    channel = gpu.cudaCreateChannelDesc(32, 16, 8, 4, 2)
    assert [getattr(channel, name) for name in "xyzwf"] == [32, 16, 8, 4, 2]


def test_a_function_that_changed_is_found_by_the_version_asked_for(gpu: Cuda) -> None:
    found, status = c_void_p(), c_int()
    for version, name in ((13000, "_v3"), (12030, "_v3"), (12020, "_v2"), (0, "_v3")):
        gpu.ok("cuGetProcAddress_v2", b"cuStreamGetCaptureInfo", byref(found), version, c_uint64(0), byref(status))
        assert found.value == ctypes.cast(gpu.library["cuStreamGetCaptureInfo" + name], c_void_p).value


def test_the_runtime_version_is_that_of_the_programs_library(gpu: Cuda) -> None:
    version = c_int()
    gpu.ok("cudaRuntimeGetVersion", byref(version))
    assert version.value // 1000 in (12, 13)


@pytest.mark.parametrize("version", [12, 13])
def test_members_of_the_properties_do_not_overlap(version: int) -> None:
    layout = properties.layout(version)
    ends = [one.offset + one.bytes * max(1, len(one.attributes)) for one in layout.members]
    starts = [one.offset for one in layout.members]
    assert all(end <= start for end, start in zip(ends[:-1], starts[1:], strict=True)) and ends[-1] <= layout.bytes
    assert len({one.name for one in layout.members}) == len(layout.members)


def test_every_symbol_of_cuda_12_s_runtime_is_there() -> None:
    """Where it is installed (pip install nvidia-cuda-runtime-cu12)."""
    spec = importlib.util.find_spec("nvidia")
    places = [Path(place) for place in (spec.submodule_search_locations if spec else None) or []]
    libraries = [library for place in places for library in place.glob("cuda_runtime/lib/libcudart.so.12")]
    if not libraries:
        pytest.skip("no libcudart.so.12 here")
    assert {name for name in defined(libraries[0]) if name.startswith(("cuda", "__cuda"))} <= set(FUNCTIONS)
