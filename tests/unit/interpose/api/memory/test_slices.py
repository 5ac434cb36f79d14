"""cudaMemcpy3D: one op inside device memory, rows between host and device, and what it refuses."""

from __future__ import annotations

from ctypes import addressof, byref, c_size_t, c_uint64, c_void_p, create_string_buffer
from typing import Any

import pytest
from api_rig import Cuda
from interpose_types import CopyParameters3d, PitchedPointer

DEFAULT, INVALID, PITCH, DIRECTION, UNSUPPORTED = 4, 1, 12, 21, 801


def parameters(destination: Any, source: Any, extent: tuple[int, int, int], **more: Any) -> CopyParameters3d:
    """destination, source: address, pitch, rows from slice to slice."""
    made = CopyParameters3d(extent=(c_size_t * 3)(*extent), kind=DEFAULT)
    for side, (address, pitch, height) in (("destination", destination), ("source", source)):
        setattr(made, side, PitchedPointer(address, pitch, pitch, height))
    for name, value in more.items():
        setattr(made, name, (c_size_t * 3)(*value) if isinstance(value, tuple) else value)
    return made


def copied(cuda: Cuda, wanted: CopyParameters3d) -> list[Any]:
    cuda.ok("cudaMemcpy3DAsync", byref(wanted), c_uint64(0))
    return list(cuda.take())


def test_slices_inside_device_memory_are_one_op(cuda: Cuda) -> None:
    to, source = cuda.malloc(4096), cuda.malloc(4096)
    cuda.take()
    wanted = parameters((to, 32, 5), (source, 64, 4), (16, 3, 2), source_at=(8, 1, 2), destination_at=(4, 2, 1))
    (op,) = copied(cuda, wanted)
    assert op.name == "copy_3d"
    assert op.fields == {
        "destination": to + 1 * 160 + 2 * 32 + 4, "destination_pitch": 32, "destination_slice": 160,
        "source": source + 2 * 256 + 1 * 64 + 8, "source_pitch": 64, "source_slice": 256,
        "width": 16, "height": 3, "depth": 2,
    }  # fmt: skip


def test_slices_without_gaps_are_rows_and_rows_without_gaps_are_bytes(cuda: Cuda) -> None:
    to, source = cuda.malloc(4096), cuda.malloc(4096)
    cuda.take()
    (rows,) = copied(cuda, parameters((to, 32, 4), (source, 16, 4), (16, 4, 3)))
    assert (rows.name, rows.fields["height"]) == ("copy_2d", 12)
    (plain,) = copied(cuda, parameters((to, 16, 4), (source, 16, 4), (16, 4, 3)))
    assert (plain.name, plain.fields["bytes"]) == ("copy_d2d", 192)
    (one,) = copied(cuda, parameters((to, 32, 9), (source, 16, 7), (16, 4, 1)))
    assert (one.name, one.fields["height"]) == ("copy_2d", 4)
    assert copied(cuda, parameters((to, 32, 4), (source, 16, 4), (16, 0, 3))) == []


def test_from_the_host_and_back(cuda: Cuda) -> None:
    address, content = cuda.malloc(4096), bytes(range(1, 1 + 4 * 3 * 2))
    cuda.ok("cudaMemset", c_uint64(address), 0, c_size_t(4096))
    source, back = create_string_buffer(content), create_string_buffer(len(content))
    on_device = (address, 16, 5)
    cuda.ok("cudaMemcpy3D", byref(parameters(on_device, (addressof(source), 4, 3), (4, 3, 2))))
    cuda.ok("cudaMemcpy3D", byref(parameters((addressof(back), 4, 3), on_device, (4, 3, 2))))
    assert back.raw[: len(content)] == content
    there = create_string_buffer(128)
    cuda.ok("cudaMemcpy", there, c_void_p(address), c_size_t(128), DEFAULT)
    assert there.raw[80:84] == content[12:16]  # the second slice begins after five rows


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"kind": 5}, DIRECTION), ({"kind": -1}, DIRECTION), ({"source_array": 1}, UNSUPPORTED),
        ({"destination_array": 1}, UNSUPPORTED), ({"source_at": (0, 2, 0)}, INVALID),
        ({"extent": (65, 3, 2)}, PITCH), ({"extent": (16, 3, 2000)}, INVALID),
    ],
)  # fmt: skip
def test_what_is_refused(cuda: Cuda, change: dict[str, Any], status: int) -> None:
    to, source = cuda.malloc(4096), cuda.malloc(4096)
    cuda.take()
    extent = change.pop("extent", (16, 3, 2))
    wanted = parameters((to, 64, 5), (source, 64, 4), extent, **change)
    assert cuda.cudaMemcpy3D(byref(wanted)) == status
    assert cuda.cudaMemcpy3DAsync(None, c_uint64(0)) == INVALID
    assert cuda.take() == []
