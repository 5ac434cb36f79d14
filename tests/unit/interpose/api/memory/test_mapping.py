"""Memory that a program maps by hand: addresses, physical memory, mappings, as ops and as bytes."""

from __future__ import annotations

import ctypes
from ctypes import Structure, byref, c_int, c_int32, c_size_t, c_uint8, c_uint64, c_void_p
from itertools import pairwise
from typing import Any

import pytest
from api_rig import Cuda
from interpose_types import LiveBlock

MIB = 1 << 20
PAGE = 2 * MIB
DEFAULT = c_int(4)  # cudaMemcpyDefault
INVALID, OUT_OF_MEMORY, INVALID_DEVICE, NOT_SUPPORTED = 1, 2, 101, 801
HOLD = 0x020D
NO_RANGE, TWICE, PART = 3 * PAGE, "once only", "as a whole"


class Location(Structure):
    _fields_ = (("type", c_int32), ("id", c_int32))


class Access(Structure):
    _fields_ = (("location", Location), ("flags", c_int32))


class Properties(Structure):
    _fields_ = (
        ("type", c_int32), ("handle_types", c_int32), ("location", Location), ("metadata", c_void_p),
        ("flags", c_uint8 * 8),
    )  # fmt: skip


def on_device(device: int = 0, handle_types: int = 0) -> Properties:
    return Properties(type=1, handle_types=handle_types, location=Location(1, device))


class Mapper:
    """The driver's functions with the arguments that matter."""

    def __init__(self, cuda: Cuda) -> None:
        self.cuda = cuda

    def reserve(self, size: int = 8 * PAGE, alignment: int = 0) -> int:
        return self.cuda.make("cuMemAddressReserve", c_size_t(size), c_size_t(alignment), c_uint64(0), c_uint64(0))

    def create(self, size: int = PAGE, device: int = 0, handle_types: int = 0) -> int:
        properties = on_device(device, handle_types)
        return self.cuda.make("cuMemCreate", c_size_t(size), byref(properties), c_uint64(0))

    def map(self, address: int, handle: int, size: int = PAGE, offset: int = 0) -> int:
        status: int = self.cuda.cuMemMap(
            c_uint64(address), c_size_t(size), c_size_t(offset), c_uint64(handle), c_uint64(0)
        )
        return status

    def unmap(self, address: int, size: int = PAGE) -> int:
        status: int = self.cuda.cuMemUnmap(c_uint64(address), c_size_t(size))
        return status

    def give_back(self, address: int, size: int = 8 * PAGE) -> int:
        status: int = self.cuda.cuMemAddressFree(c_uint64(address), c_size_t(size))
        return status

    def access(self, address: int, size: int, *wanted: tuple[int, int, int]) -> int:
        all_of_them = (Access * len(wanted))(*(Access(Location(kind, device), flags) for kind, device, flags in wanted))
        status: int = self.cuda.cuMemSetAccess(
            c_uint64(address), c_size_t(size), all_of_them, c_size_t(len(all_of_them))
        )
        return status

    def release(self, handle: int) -> int:
        status: int = self.cuda.cuMemRelease(c_uint64(handle))
        return status

    def mapped(self, pages: int) -> int:
        """A reservation of which so many pages have memory."""
        address = self.reserve()
        for page in range(pages):
            assert self.map(address + page * PAGE, self.create()) == 0
        assert self.access(address, pages * PAGE, (1, 0, 3)) == 0
        return address


@pytest.fixture
def mapper(cuda: Cuda) -> Mapper:
    return Mapper(cuda)


def shortened(cuda: Cuda) -> list[tuple[str, dict[str, Any]]]:
    return [(op.name, op.fields) for op in cuda.take()]


def test_addresses_cost_nothing_and_memory_becomes_an_allocation(cuda: Cuda, mapper: Mapper) -> None:
    address = mapper.reserve()
    assert address % PAGE == 0
    assert cuda.take() == []
    handle = mapper.create()
    assert mapper.map(address + PAGE, handle) == 0
    assert mapper.access(address + PAGE, PAGE, (1, 0, 3)) == 0
    assert mapper.release(handle) == 0
    assert mapper.unmap(address + PAGE) == 0
    assert mapper.give_back(address) == 0
    assert shortened(cuda) == [
        ("memory_hold", {"handle": handle, "bytes": PAGE}),
        ("memory_map", {"handle": handle, "address": address + PAGE}),
        ("free", {"address": address + PAGE}),
    ]


def test_memory_without_an_address_is_dropped(cuda: Cuda, mapper: Mapper) -> None:
    handle = mapper.create()
    cuda.take()
    assert [mapper.release(handle), mapper.release(handle)] == [0, INVALID]
    assert shortened(cuda) == [("memory_drop", {"handle": handle})]


def test_out_of_memory_is_told_and_leaves_nothing(cuda: Cuda, mapper: Mapper) -> None:
    """PyTorch frees what it has cached then, and tries again."""
    cuda.jitc_fake_next_status(HOLD, OUT_OF_MEMORY)
    out = c_uint64(7)
    assert cuda.cuMemCreate(byref(out), c_size_t(PAGE), byref(on_device()), c_uint64(0)) == OUT_OF_MEMORY
    assert out.value == 7
    handle = cuda.take()[-1].fields["handle"]
    assert mapper.release(handle) == INVALID
    assert mapper.create() not in (0, handle)


def test_a_handle_is_mapped_whole_and_once(cuda: Cuda, mapper: Mapper, capfd: pytest.CaptureFixture[str]) -> None:
    address, handle = mapper.reserve(), mapper.create(2 * PAGE)
    assert mapper.map(address, handle, PAGE) == NOT_SUPPORTED
    assert mapper.map(address, handle, PAGE, PAGE) == NOT_SUPPORTED
    assert mapper.map(address, handle, 2 * PAGE) == 0
    assert mapper.map(address + 4 * PAGE, handle, 2 * PAGE) == NOT_SUPPORTED
    assert mapper.unmap(address, 2 * PAGE) == 0
    assert mapper.map(address, handle, 2 * PAGE) == NOT_SUPPORTED
    assert mapper.release(handle) == 0
    assert [name for name, _ in shortened(cuda)] == ["memory_hold", "memory_map", "free"]
    lines = capfd.readouterr().err.splitlines()
    assert [PART in lines[0], TWICE in lines[1], len(lines)] == [True, True, 2]


def test_mappings_lie_in_reservations_and_do_not_overlap(cuda: Cuda, mapper: Mapper) -> None:
    address, taken = mapper.reserve(4 * PAGE), cuda.malloc(PAGE)
    handle = mapper.create(2 * PAGE)
    cuda.take()
    assert mapper.map(address + PAGE, mapper.create()) == 0
    cuda.take()
    for place in (taken, address, address + MIB, address + NO_RANGE, address - PAGE, 4096):
        assert mapper.map(place, handle, 2 * PAGE) == INVALID
    assert cuda.take() == []
    assert mapper.map(address + 2 * PAGE, handle, 2 * PAGE) == 0
    assert mapper.give_back(address, 4 * PAGE) == INVALID  # something is mapped
    assert cuda.cudaFree(c_uint64(address + PAGE)) == INVALID
    assert mapper.unmap(taken) == INVALID


def test_ranges_of_several_mappings(cuda: Cuda, mapper: Mapper) -> None:
    """PyTorch's blocks do not care where one mapping ends and the next one begins."""
    address = mapper.mapped(3)
    data = bytes(i * 11 % 251 for i in range(3 * PAGE - 4096))
    cuda.ok("cudaMemcpy", c_void_p(address + 4096), data, c_size_t(len(data)), DEFAULT)
    out = ctypes.create_string_buffer(len(data))
    cuda.ok("cudaMemcpy", out, c_void_p(address + 4096), c_size_t(len(data)), DEFAULT)
    assert out.raw == data
    cuda.ok("cudaMemset", c_uint64(address), 0, c_size_t(3 * PAGE))
    assert cuda.cudaMemset(c_uint64(address), 0, c_size_t(3 * PAGE + 1)) == INVALID
    base, size = c_uint64(), c_size_t()
    cuda.ok("cuMemGetAddressRange_v2", byref(base), byref(size), c_uint64(address + PAGE + 5))
    assert (base.value, size.value) == (address + PAGE, PAGE)
    assert mapper.unmap(address + PAGE) == 0
    cuda.take()
    assert cuda.cudaMemset(c_uint64(address), 0, c_size_t(PAGE + 1)) == INVALID
    assert mapper.access(address, 3 * PAGE, (1, 0, 3)) == INVALID
    assert mapper.unmap(address, 3 * PAGE) == INVALID  # there is a gap
    assert cuda.take() == []


def test_several_mappings_are_unmapped_at_once(cuda: Cuda, mapper: Mapper) -> None:
    address = mapper.mapped(4)
    cuda.take()
    assert mapper.unmap(address + PAGE // 2, PAGE) == INVALID
    assert mapper.unmap(address + PAGE, PAGE + MIB) == INVALID
    assert mapper.unmap(address + PAGE, 0) == INVALID
    assert mapper.unmap(address + PAGE, 2 * PAGE) == 0
    assert shortened(cuda) == [("free", {"address": address + place * PAGE}) for place in (1, 2)]
    assert mapper.map(address + PAGE, mapper.create(2 * PAGE), 2 * PAGE) == 0


def test_live_blocks_are_counted_as_they_are_mapped(cuda: Cuda, mapper: Mapper) -> None:
    """Without a list of the program: equal programs number their memory alike, whatever they reserve."""
    first = cuda.malloc(PAGE)
    address = mapper.reserve()
    assert mapper.map(address + 2 * PAGE, mapper.create()) == 0
    second = cuda.malloc(PAGE)
    assert mapper.map(address, mapper.create()) == 0
    cuda.take()
    cuda.jitc_step_end(None, c_size_t(0))
    (boundary,) = [op for op in cuda.take() if first.to_bytes(8, "little") in op.payload]
    blocks = [LiveBlock.from_buffer_copy(boundary.payload[i : i + 24]) for i in range(0, len(boundary.payload), 24)]
    ours = [one for one in blocks if one.address in (first, second, address, address + 2 * PAGE)]
    assert [one.address for one in ours] == [first, address + 2 * PAGE, second, address]
    assert all(later.ordinal == earlier.ordinal + 1 for earlier, later in pairwise(ours))


def test_access(cuda: Cuda, mapper: Mapper, capfd: pytest.CaptureFixture[str]) -> None:
    address = mapper.mapped(1)
    assert mapper.access(address, PAGE, (1, 0, 3), (1, 1, 3)) == 0  # another device, as cudaDeviceEnablePeerAccess
    assert mapper.access(address, PAGE, (1, 9, 3)) == INVALID_DEVICE
    assert mapper.access(address, PAGE, (1, 0, 1)) == NOT_SUPPORTED
    assert mapper.access(address, PAGE, (2, 0, 3)) == NOT_SUPPORTED
    assert len(capfd.readouterr().err.splitlines()) == 2
    flags = c_uint64(9)
    for place, device, expected in ((address, 0, (0, 3)), (address, 1, (0, 0)), (address + PAGE, 0, (INVALID, 0))):
        status = cuda.cuMemGetAccess(byref(flags), byref(Location(1, device)), c_uint64(place))
        assert (status, flags.value) == expected


def test_what_is_said_of_memory(cuda: Cuda, mapper: Mapper) -> None:
    size, properties, value = c_size_t(), Properties(), c_int()
    for option in (0, 1):
        cuda.ok("cuMemGetAllocationGranularity", byref(size), byref(on_device()), c_int(option))
        assert size.value == PAGE
    for handle_types in (1, 8):  # file descriptors, fabric: accepted, and what exports them is refused
        handle = mapper.create(PAGE, 1, handle_types)
        cuda.ok("cuMemGetAllocationPropertiesFromHandle", byref(properties), c_uint64(handle))
        assert (properties.type, properties.handle_types, properties.location.id) == (1, handle_types, 1)
        assert mapper.release(handle) == 0
    assert cuda.cuMemGetAllocationPropertiesFromHandle(byref(properties), c_uint64(handle)) == INVALID
    for attribute, expected in ((102, 1), (103, 0), (110, 0), (128, 0)):
        cuda.ok("cuDeviceGetAttribute", byref(value), attribute, 0)
        assert value.value == expected


def test_memory_goes_where_its_device_reserved(cuda: Cuda, mapper: Mapper) -> None:
    address, handle = mapper.reserve(), mapper.create(PAGE, 1)
    assert mapper.map(address, handle) == NOT_SUPPORTED
    cuda.ok("cudaSetDevice", 1)
    assert mapper.map(mapper.reserve(), handle) == 0


@pytest.mark.parametrize(
    ("change", "status"),
    [({"type": 0}, INVALID), ({"location": Location(3, 0)}, NOT_SUPPORTED), ({"location": Location(1, 7)}, 101)],
)
def test_memory_that_is_not_a_devices_is_refused(cuda: Cuda, change: dict[str, Any], status: int) -> None:
    properties, out = on_device(), c_uint64()
    for name, value in change.items():
        setattr(properties, name, value)
    assert cuda.cuMemCreate(byref(out), c_size_t(PAGE), byref(properties), c_uint64(0)) == status
    assert cuda.take() == []


def test_malformed_calls(cuda: Cuda, mapper: Mapper) -> None:
    out = c_uint64()
    zero = c_uint64(0)
    for size, alignment, flags in ((0, 0, 0), (MIB, 0, 0), (PAGE, 3, 0), (PAGE, 0, 1)):
        arguments = (c_size_t(size), c_size_t(alignment), zero, c_uint64(flags))
        assert cuda.cuMemAddressReserve(byref(out), *arguments) == INVALID
    assert cuda.cuMemAddressReserve(byref(out), c_size_t(1 << 50), c_size_t(0), zero, zero) == OUT_OF_MEMORY
    assert cuda.cuMemCreate(byref(out), c_size_t(1 << 50), byref(on_device()), zero) == OUT_OF_MEMORY
    assert cuda.cuMemCreate(byref(out), c_size_t(MIB), byref(on_device()), zero) == INVALID
    assert cuda.cuMemCreate(byref(out), c_size_t(PAGE), None, zero) == INVALID
    address = mapper.reserve()
    assert [mapper.map(address, 12345), mapper.release(12345)] == [INVALID, INVALID]
    assert [mapper.give_back(address, PAGE), mapper.give_back(address + PAGE, 7 * PAGE)] == [INVALID, INVALID]
    assert [mapper.give_back(address), mapper.give_back(address)] == [0, INVALID]
    assert cuda.take() == []


def test_reservations_are_aligned_and_rest(cuda: Cuda, mapper: Mapper) -> None:
    size = 5 * PAGE
    first = mapper.reserve(size, 64 * MIB)
    assert first % (64 * MIB) == 0
    assert mapper.give_back(first, size) == 0
    cuda.jitc_step_end(None, c_size_t(0))
    second = mapper.reserve(size)
    assert second != first
    cuda.jitc_step_end(None, c_size_t(0))
    assert mapper.reserve(size) == first
    assert mapper.give_back(second, size) == 0
