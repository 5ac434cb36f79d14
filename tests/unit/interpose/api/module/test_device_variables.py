"""Device variables: where they are, copies by symbol, pointers to them, and that they are state."""

from __future__ import annotations

import ctypes
import mmap
import os
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

import pytest
from api_rig import Cuda
from interpose_program import Program, fat_binary, unique
from interpose_types import LiveBlock, PointerAttributes

#: Places where nothing of a process lies (see standin_session.cpp).
FIRST = 0x71_0000_0000 if "JITC_TEST_BASE" in os.environ else 0x3000_0000_0000
PLACES = iter(range(FIRST, FIRST + (1 << 32), 1 << 20))
TO_DEVICE, FROM_DEVICE, BY_ADDRESS = 1, 2, 4


def names(gpu: Cuda) -> list[str]:
    return [op.name for op in gpu.take()]


def live(gpu: Cuda) -> list[LiveBlock]:
    """What the next boundary of GPU 0 says is live, beside allocations."""
    gpu.take()
    gpu.jitc_step_end((LiveBlock * 1)(), c_size_t(0))
    boundary = next(op for op in gpu.take() if op.name == "boundary")
    data = boundary.payload
    return [LiveBlock.from_buffer_copy(data[at : at + 24]) for at in range(0, 24 * boundary.fields["count"], 24)]


def aliases(gpu: Cuda) -> list[int]:
    """Given since the last look."""
    return [op.fields["alias"] for op in gpu.take() if op.name == "variable_alias"]


def is_alias(address: int) -> bool:
    return 1 << 62 <= address < 1 << 63 and address % (1 << 40) == 0


def test_address_and_size_are_asked_once(gpu: Cuda) -> None:
    place = next(PLACES)
    symbol = Program(gpu).variable(96, place)
    size = c_size_t()
    assert gpu.make("cudaGetSymbolAddress", symbol) == place
    gpu.ok("cudaGetSymbolSize", byref(size), symbol)
    assert size.value == 96
    assert names(gpu) == ["image_query", "image_part", "module_load", "variable_get"]
    assert gpu.cudaGetSymbolAddress(byref(c_uint64()), c_void_p(0x1230)) == 13


def test_copies_go_to_the_variable_and_come_from_it(gpu: Cuda) -> None:
    place = next(PLACES)
    symbol = Program(gpu).variable(64, place)
    there, back = ctypes.create_string_buffer(bytes(range(16)), 16), ctypes.create_string_buffer(16)
    gpu.ok("cudaMemcpyToSymbol", symbol, there, c_size_t(16), c_size_t(8), TO_DEVICE)
    gpu.ok("cudaMemcpyFromSymbol", back, symbol, c_size_t(16), c_size_t(8), FROM_DEVICE)
    assert back.raw == there.raw
    *_, asked, to, back_again = [op for op in gpu.take() if op.name != "stream_synchronize"]  # of work before it
    alias = asked.fields["alias"]
    assert asked.name == "variable_alias" and is_alias(alias)
    copies = [(op.name, op.fields["address"]) for op in (to, back_again)]
    assert copies == [("copy_h2d", alias + 8), ("copy_d2h", alias + 8)]
    stream = gpu.make("cudaStreamCreateWithFlags", 1)
    memory = gpu.malloc(64)
    gpu.ok("cudaMemcpyToSymbolAsync", symbol, c_uint64(memory), c_size_t(8), c_size_t(0), BY_ADDRESS, c_uint64(stream))
    gpu.ok("cudaMemcpyFromSymbolAsync", back, symbol, c_size_t(8), c_size_t(0), FROM_DEVICE, c_uint64(stream))
    assert [(op.name, op.stream) for op in gpu.take()][-2:] == [("copy_d2d", stream), ("copy_d2h", stream)]
    assert gpu.cudaMemcpyToSymbol(symbol, there, c_size_t(16), c_size_t(49), TO_DEVICE) == 1
    assert gpu.cudaMemcpyToSymbol(symbol, there, c_size_t(16), c_size_t(0), FROM_DEVICE) == 21
    assert gpu.cudaMemcpyFromSymbol(back, symbol, c_size_t(16), c_size_t(0), TO_DEVICE) == 21


def test_only_who_asks_for_the_address_is_told(gpu: Cuda) -> None:
    """Size and content do not need it: the alias is enough, also where the process uses that address itself."""
    taken = mmap.mmap(-1, 4096)
    symbol = Program(gpu).variable(8, ctypes.addressof(ctypes.c_char.from_buffer(taken)))
    size, content = c_size_t(), ctypes.create_string_buffer(8)
    gpu.ok("cudaGetSymbolSize", byref(size), symbol)
    gpu.ok("cudaMemcpyToSymbol", symbol, content, c_size_t(8), c_size_t(0), TO_DEVICE)
    assert size.value == 8 and len(aliases(gpu)) == 1
    assert gpu.cudaGetSymbolAddress(byref(c_uint64()), symbol) == 801


def test_an_alias_stays_when_the_address_is_asked_for(gpu: Cuda) -> None:
    """What a pointer says goes to the address; the symbol, and what is live, are as they were."""
    place, content = next(PLACES), ctypes.create_string_buffer(8)
    symbol = Program(gpu).variable(8, place)
    gpu.ok("cudaMemcpyToSymbol", symbol, content, c_size_t(8), c_size_t(0), TO_DEVICE)
    (alias,) = aliases(gpu)
    before = [bytes(block) for block in live(gpu)]
    assert gpu.make("cudaGetSymbolAddress", symbol) == gpu.make("cudaGetSymbolAddress", symbol) == place
    assert names(gpu) == ["variable_get"]
    assert [bytes(block) for block in live(gpu)] == before
    gpu.ok("cudaMemcpyFromSymbol", content, symbol, c_size_t(8), c_size_t(0), FROM_DEVICE)
    gpu.ok("cudaMemcpy", content, c_uint64(place), c_size_t(8), FROM_DEVICE)
    assert [op.fields["address"] for op in gpu.take()][-2:] == [alias, place]


def test_variables_have_aliases_of_their_own(gpu: Cuda) -> None:
    program, size = Program(gpu), c_size_t()
    for symbol in [program.variable(8, next(PLACES)) for _ in range(3)]:
        gpu.ok("cudaGetSymbolSize", byref(size), symbol)
    given = aliases(gpu)
    assert len(set(given)) == 3 and all(map(is_alias, given))
    assert set(given) <= {block.address for block in live(gpu)}
    program.unregister()
    assert not set(given) & {block.address for block in live(gpu)}
    gpu.ok("cudaGetSymbolSize", byref(size), Program(gpu).variable(8, next(PLACES)))
    assert not set(given) & set(aliases(gpu))


def test_a_pointer_to_a_variable_is_known(gpu: Cuda) -> None:
    place = next(PLACES)
    address = gpu.make("cudaGetSymbolAddress", Program(gpu).variable(4096, place))
    attributes = PointerAttributes()
    gpu.ok("cudaPointerGetAttributes", byref(attributes), c_uint64(address + 100))
    assert (attributes.type, attributes.device) == (2, 0)
    base, size = c_uint64(), c_size_t()
    gpu.ok("cuMemGetAddressRange_v2", byref(base), byref(size), c_uint64(address + 4095))
    assert (base.value, size.value) == (place, 4096)
    gpu.ok("cudaPointerGetAttributes", byref(attributes), c_uint64(address + 4096))
    assert attributes.type == 0
    data = ctypes.create_string_buffer(b"x" * 64, 64)
    gpu.ok("cudaMemcpy", c_uint64(address + 4032), data, c_size_t(64), TO_DEVICE)
    assert gpu.take()[-1].fields == {"address": place + 4032, "bytes": 64}
    assert gpu.cudaMemcpy(c_uint64(address + 4033), data, c_size_t(64), TO_DEVICE) == 1
    gpu.ok("cudaMemset", c_uint64(address), 0, c_size_t(4096))


def test_what_was_found_is_state(gpu: Cuda) -> None:
    content = unique("state").encode()
    program, same = Program(gpu, content), Program(gpu, content)
    places, name = [next(PLACES) for _ in range(2)], unique("counter")
    before = {(block.address, block.bytes) for block in live(gpu)}
    gpu.make("cudaGetSymbolAddress", program.variable(8, places[0], name))
    gpu.make("cudaGetSymbolAddress", same.variable(8, places[1], name))
    found = [block for block in live(gpu) if (block.address, block.bytes) not in before]
    assert sorted((block.address, block.bytes) for block in found) == [(place, 8) for place in places]
    assert [block.address for block in found] == places  # the second copy of the module comes second
    assert found[0].ordinal > 1 << 62 and found[1].ordinal == found[0].ordinal + 1
    gpu.take()
    gpu.jitc_step_begin_live((LiveBlock * 1)(), c_size_t(0))
    begun = next(op for op in gpu.take() if op.name == "live_set")
    assert places[0].to_bytes(8, "little") in begun.payload
    for one in (program, same):
        one.unregister()
    assert not {block.address for block in live(gpu)} & set(places)


def test_ordinals_follow_from_what_a_variable_is(gpu: Cuda) -> None:
    """A library of the same content in another process, or loaded in another order, gives the same."""
    name, content = "_Z7counter", b"the same on every rank"
    place = next(PLACES)
    gpu.make("cudaGetSymbolAddress", Program(gpu, content).variable(8, place, name))
    (block,) = [block for block in live(gpu) if block.address == place]

    def fnv(state: int, data: bytes) -> int:
        for byte in data:
            state = (state ^ byte) * 0x100000001B3 % (1 << 64)
        return state

    program = fat_binary(content)
    gpu.make("cuModuleLoadData", ctypes.create_string_buffer(program))
    digest = next(op for op in gpu.take() if op.name == "module_load").fields["hash"]
    assert block.ordinal == 1 << 62 | fnv(fnv(0xCBF29CE484222325, digest), name.encode()) >> 2


def test_variables_of_driver_modules(gpu: Cuda) -> None:
    place, name = next(PLACES), unique("global")
    gpu.jitc_fake_variable(name.encode(), c_uint64(place), c_uint64(32))
    module = gpu.make("cuModuleLoadData", ctypes.create_string_buffer(fat_binary(unique("variables").encode())))
    address, size = c_uint64(), c_size_t()
    gpu.ok("cuModuleGetGlobal_v2", byref(address), byref(size), c_uint64(module), name.encode())
    assert (address.value, size.value) == (place, 32)
    gpu.ok("cuModuleGetGlobal_v2", None, byref(size), c_uint64(module), name.encode())
    assert not aliases(gpu)
    assert gpu.cuModuleGetGlobal_v2(byref(address), None, c_uint64(module), b"no such variable") == 500
    gpu.ok("cuModuleUnload", c_uint64(module))
    attributes = PointerAttributes()
    gpu.ok("cudaPointerGetAttributes", byref(attributes), c_uint64(place))
    assert attributes.type == 0


def test_a_variable_where_the_process_has_memory_is_refused(gpu: Cuda, capfd: pytest.CaptureFixture[str]) -> None:
    taken = mmap.mmap(-1, 4096)
    place = ctypes.addressof(ctypes.c_char.from_buffer(taken))
    symbol = Program(gpu).variable(8, place)
    assert gpu.cudaGetSymbolAddress(byref(c_uint64()), symbol) == 801
    assert "uses for something else" in capfd.readouterr().err


def test_the_software_device_refuses_symbols(cuda: Cuda, capfd: pytest.CaptureFixture[str]) -> None:
    host = c_int()
    assert cuda.cudaMemcpyToSymbol(byref(host), byref(host), c_size_t(4), c_size_t(0), TO_DEVICE) == 801
    expected = "cudaMemcpyToSymbol is not supported: device variables live in kernels, which the software device"
    assert expected in capfd.readouterr().err
