"""Module images: what is sent, when, and how often."""

from __future__ import annotations

import ctypes
import struct
import threading
from ctypes import byref, c_size_t, c_uint64, c_void_p
from pathlib import Path

import pytest
from api_rig import Cuda
from interpose_program import Program, fat_binary, tell_kernel, unique
from interpose_types import Dim3

ONE = Dim3(1, 1, 1)
NOTHING = c_void_p(0)


def launch(gpu: Cuda, kernel: c_uint64, stream: int = 0) -> int:
    return int(gpu.cudaLaunchKernel(kernel, ONE, ONE, NOTHING, c_size_t(0), c_uint64(stream)))


def names(gpu: Cuda) -> list[str]:
    return [op.name for op in gpu.take()]


def test_the_first_launch_brings_the_module_the_second_only_itself(gpu: Cuda) -> None:
    program = Program(gpu)
    first, second = program.kernel(), program.kernel()
    assert gpu.take() == []
    assert launch(gpu, first) == 0
    query, part, load, get, launched = gpu.take()
    expected = query.fields["hash"]
    assert (query.name, query.fields["bytes"]) == ("image_query", len(program.image))
    assert part.fields == {"hash": expected, "total": len(program.image), "offset": 0, "bytes": len(program.image)}
    assert part.payload[: len(program.image)] == program.image
    assert (load.name, load.fields["hash"], load.fields["bytes"]) == ("module_load", expected, len(program.image))
    assert (get.name, get.fields["module"]) == ("function_get", load.fields["module"])
    assert (launched.name, launched.fields["function"]) == ("kernel_launch", get.fields["function"])
    assert launch(gpu, first) == 0 and names(gpu) == ["kernel_launch"]
    assert launch(gpu, second) == 0 and names(gpu) == ["function_get", "kernel_launch"]


def test_an_image_goes_in_parts_and_only_when_the_node_has_it_not(gpu: Cuda) -> None:
    content = unique("large").encode() * (300_000)
    programs = [Program(gpu, content) for _ in range(2)]
    for program in programs:
        assert launch(gpu, program.kernel()) == 0
    ops = gpu.take()
    parts = [op for op in ops if op.name == "image_part"]
    image = programs[0].image
    assert [(op.fields["offset"], op.fields["total"]) for op in parts] == [
        (at, len(image)) for at in range(0, len(image), 1 << 20)
    ]
    assert b"".join(op.payload[: op.fields["bytes"]] for op in parts) == image
    assert [op.name for op in ops[-4:]] == ["image_query", "module_load", "function_get", "kernel_launch"]


def test_every_gpu_loads_the_module_for_itself(gpu: Cuda) -> None:
    kernel = Program(gpu).kernel()
    assert launch(gpu, kernel) == 0
    gpu.take()
    gpu.ok("cudaSetDevice", 1)
    assert launch(gpu, kernel) == 0
    assert names(gpu) == ["image_query", "module_load", "function_get", "kernel_launch"]


def test_what_cannot_be_loaded_is_tried_again(gpu: Cuda) -> None:
    kernel = Program(gpu).kernel()
    gpu.jitc_fake_next_status(0x0703, 209)  # module_load: no kernel image for this device
    assert launch(gpu, kernel) == 209
    gpu.jitc_fake_next_status(0x0705, 500)  # function_get
    assert launch(gpu, kernel) == 500
    assert launch(gpu, kernel) == 0
    assert [op.name for op in gpu.take()].count("image_part") == 1


def test_an_image_that_is_none_is_an_error(gpu: Cuda) -> None:
    register = gpu.library["__cudaRegisterFatBinary"]
    register.restype = c_void_p
    program = Program(gpu)
    program.handle = c_void_p(register(c_void_p(0)))
    assert launch(gpu, program.kernel()) == 200
    module, junk = c_uint64(), ctypes.create_string_buffer(b"\x01\x02\x03\x04" * 16)
    assert gpu.cuModuleLoadData(byref(module), junk) == 200
    assert gpu.cuModuleLoadData(byref(module), NOTHING) == 1
    assert gpu.take() == []


def elf(sections: int, size: int) -> bytes:
    """A 64-bit ELF file with the section headers behind the content."""
    content = bytes(range(256)) * (size // 256)
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 190, 1, 0, 0, 64 + size, 0, 64, 56, 0, 64, sections, 0
    )
    table = b"".join(struct.pack("<IIQQQQIIQQ", 0, 1, 0, 0, 64, size, 0, 0, 0, 0) for _ in range(sections - 1))
    nobits = struct.pack("<IIQQQQIIQQ", 0, 8, 0, 0, 64, 1 << 40, 0, 0, 0, 0)
    return header + content + table + nobits


@pytest.mark.parametrize(
    ("image", "size", "digest"),  # XXH3, 128 bits, of another implementation
    [
        (elf(5, 1024), 1408, "9308d534848dee8e434a6db2584f1680"),
        (fat_binary(b"x" * 100), 116, "ee64e86da765f2ed16e54dbf3f694ec4"),
        (b"// made by a compiler\n.version 8.7\n.target sm_90\n", 50, "2c60d30713ad068a4cc438eea74f68d1"),
    ],
    ids=["elf", "fat binary", "ptx"],
)
def test_the_size_of_an_image_follows_from_its_form(gpu: Cuda, image: bytes, size: int, digest: str) -> None:
    gpu.make("cuModuleLoadData", ctypes.create_string_buffer(image + b"\0" + b"behind it " * 10))
    load = next(op for op in gpu.take() if op.name == "module_load")
    assert (load.fields["bytes"], load.fields["hash"].hex()) == (size, digest)


def test_modules_come_from_files_too(gpu: Cuda, tmp_path: Path) -> None:
    (tmp_path / "good.cubin").write_bytes(elf(3, 512))
    (tmp_path / "short.cubin").write_bytes(elf(3, 512)[:300])
    module = c_uint64()
    gpu.ok("cuModuleLoad", byref(module), str(tmp_path / "good.cubin").encode())
    assert gpu.cuModuleLoad(byref(module), str(tmp_path / "short.cubin").encode()) == 200
    assert gpu.cuModuleLoad(byref(module), str(tmp_path / "none.cubin").encode()) == 301


def test_many_threads_bring_a_module_once(gpu: Cuda) -> None:
    program = Program(gpu, unique("threads").encode() * 100_000)
    kernels = [program.kernel() for _ in range(4)]
    results: list[int] = []
    start = threading.Barrier(8)

    def work(at: int) -> None:
        start.wait(60)
        results.extend(launch(gpu, kernels[(at + i) % 4]) for i in range(50))

    threads = [threading.Thread(target=work, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [0] * 400
    recorded = names(gpu)
    assert [recorded.count(name) for name in ("image_query", "module_load", "function_get", "kernel_launch")] == [
        1, 1, 4, 400,
    ]  # fmt: skip


def test_a_library_that_is_closed_takes_its_kernels_along(gpu: Cuda) -> None:
    program = Program(gpu)
    kernel = program.kernel()
    assert launch(gpu, kernel) == 0
    load = next(op for op in gpu.take() if op.name == "module_load")
    program.unregister()
    (unload,) = gpu.take()
    assert (unload.name, unload.fields["module"]) == ("module_unload", load.fields["module"])
    assert launch(gpu, kernel) == 98


def test_a_module_of_the_driver_api_lives_from_load_to_unload(gpu: Cuda) -> None:
    image, name = ctypes.create_string_buffer(fat_binary(unique("module").encode())), unique("driver")
    tell_kernel(gpu, name, [])
    module = gpu.make("cuModuleLoadData", image)
    kernel = gpu.make("cuModuleGetFunction", c_uint64(module), name.encode())
    assert gpu.make("cuModuleGetFunction", c_uint64(module), name.encode()) == kernel
    out = c_uint64()
    assert gpu.cuModuleGetFunction(byref(out), c_uint64(module), b"no such kernel") == 500
    assert launch(gpu, c_uint64(kernel)) == 0
    assert [op.name for op in gpu.take()].count("function_get") == 2
    gpu.ok("cudaSetDevice", 1)  # the module belongs to the other device
    assert launch(gpu, c_uint64(kernel)) == 400
    gpu.ok("cudaSetDevice", 0)
    gpu.ok("cuModuleUnload", c_uint64(module))
    assert names(gpu) == ["module_unload"]
    assert gpu.cuModuleUnload(c_uint64(module)) == 400
    assert launch(gpu, c_uint64(kernel)) == 98


def test_a_library_is_loaded_where_it_is_used(gpu: Cuda) -> None:
    image, name = ctypes.create_string_buffer(fat_binary(unique("library").encode())), unique("in_library")
    tell_kernel(gpu, name, [])
    options = (NOTHING, NOTHING, 0, NOTHING, NOTHING, 0)
    library = gpu.make("cuLibraryLoadData", image, *options)
    ctypes.memset(image, 0, len(image))  # it has been copied
    assert gpu.take() == []
    kernel = c_uint64(gpu.make("cuLibraryGetKernel", c_uint64(library), name.encode()))
    function = gpu.make("cuKernelGetFunction", kernel)
    for device in (0, 1):
        gpu.ok("cudaSetDevice", device)
        assert launch(gpu, c_uint64(function)) == 0
    assert names(gpu).count("module_load") == 2
    module = c_uint64(gpu.make("cuLibraryGetModule", c_uint64(library)))
    assert gpu.cuModuleUnload(module) == 400
    gpu.ok("cuLibraryUnload", c_uint64(library))
    assert names(gpu) == ["module_unload", "module_unload"]
    assert gpu.cuModuleGetFunction(byref(c_uint64()), module, name.encode()) == 400


def test_the_software_device_refuses_modules(cuda: Cuda, capfd: pytest.CaptureFixture[str]) -> None:
    module = c_uint64()
    assert cuda.cuModuleLoadData(byref(module), ctypes.create_string_buffer(fat_binary(b"x"))) == 801
    assert "cuModuleLoadData is not supported: the software device runs no GPU kernels" in capfd.readouterr().err
    assert cuda.take() == []
