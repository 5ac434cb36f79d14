"""What is asked of a kernel: attributes, parameters, names, occupancy."""

from __future__ import annotations

import ctypes
import struct
import threading
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p

from api_rig import Cuda
from interpose_program import USUAL, Program, fat_binary, tell_kernel, unique
from interpose_types import Dim3

MAX_DYNAMIC, CARVEOUT = 8, 9


class FuncAttributes(ctypes.Structure):
    """cudaFuncAttributes."""

    _fields_ = (("sizes", c_size_t * 3), ("numbers", c_int * 13), ("reserved", c_int * 16))


def names(gpu: Cuda) -> list[str]:
    return [op.name for op in gpu.take()]


def test_attributes_are_asked_once(gpu: Cuda) -> None:
    info = (512, 1024, 2048, 256, 77, 86, 90, 1, 40960, 50, 1, 2, 3, 4, 1, 2)
    kernel = Program(gpu).kernel([(0, 8), (8, 4)], info)
    attributes = FuncAttributes()
    for _ in range(2):
        gpu.ok("cudaFuncGetAttributes", byref(attributes), kernel)
    assert list(attributes.sizes) == [1024, 2048, 256]
    assert list(attributes.numbers) == [512, 77, 86, 90, 1, 40960, 50, 1, 2, 3, 4, 2, 1]
    assert names(gpu).count("function_get") == 1
    value = c_int()
    for number, expected in enumerate(info):
        gpu.ok("cuFuncGetAttribute", byref(value), number, kernel)
        assert value.value == expected
    assert gpu.cuFuncGetAttribute(byref(value), 16, kernel) == 1
    assert gpu.cuFuncGetAttribute(byref(value), 0, c_uint64(0x1230)) == 400
    assert gpu.cudaFuncGetAttributes(byref(attributes), c_void_p(0x1230)) == 98
    assert gpu.take() == []


def test_an_attribute_is_set_when_it_changes(gpu: Cuda) -> None:
    kernel = Program(gpu).kernel()
    one, nothing = Dim3(1, 1, 1), c_void_p(0)
    assert gpu.cudaLaunchKernel(kernel, one, one, nothing, c_size_t(100_000), c_uint64(0)) == 1
    gpu.ok("cudaFuncSetAttribute", kernel, MAX_DYNAMIC, 100_000)
    setting = gpu.take()[-1]
    assert (setting.name, setting.fields["attribute"], setting.fields["value"]) == ("function_set", 8, 100_000)
    gpu.ok("cudaLaunchKernel", kernel, one, one, nothing, c_size_t(100_000), c_uint64(0))
    for call in (("cudaFuncSetAttribute", kernel, 8, 100_000), ("cuFuncSetAttribute", kernel, 8, 100_000)):
        gpu.ok(*call)
    assert names(gpu) == ["kernel_launch"]
    gpu.jitc_fake_next_status(0x0706, 1)
    assert gpu.cudaFuncSetAttribute(kernel, CARVEOUT, 200) == 1
    value = c_int()
    gpu.ok("cuFuncGetAttribute", byref(value), CARVEOUT, kernel)
    assert value.value == -1


def test_attributes_belong_to_a_device(gpu: Cuda) -> None:
    kernel = Program(gpu).kernel()
    gpu.ok("cuKernelSetAttribute", MAX_DYNAMIC, 90_000, kernel, 1)
    value = c_int()
    for device, expected in ((0, 49152), (1, 90_000)):
        gpu.ok("cuKernelGetAttribute", byref(value), MAX_DYNAMIC, kernel, device)
        assert value.value == expected
    assert gpu.cuKernelGetAttribute(byref(value), MAX_DYNAMIC, kernel, 7) == 101


def test_parameters_and_names_are_told(gpu: Cuda) -> None:
    name = unique("named")
    kernel = Program(gpu).kernel([(0, 8), (8, 12)], name=name)
    offset, size, text = c_size_t(), c_size_t(), c_char_p()
    for call in ("cudaFuncGetParamInfo", "cuFuncGetParamInfo", "cuKernelGetParamInfo"):
        gpu.ok(call, kernel, c_size_t(1), byref(offset), byref(size))
        assert (offset.value, size.value) == (8, 12)
        assert getattr(gpu, call)(kernel, c_size_t(2), byref(offset), byref(size)) == 1
    for call in ("cudaFuncGetName", "cuFuncGetName", "cuKernelGetName"):
        gpu.ok(call, byref(text), kernel)
        assert text.value == name.encode()


def test_a_broken_answer_of_the_service_is_an_error(gpu: Cuda) -> None:
    module, name = c_uint64(), unique("broken")
    image = ctypes.create_string_buffer(fat_binary(unique("broken").encode()))
    gpu.ok("cuModuleLoadData", byref(module), image)
    for parameters, count in (([(0, 4)], 1000), ([(0, 1 << 31)], 1)):
        reply = struct.pack("<16iQ", *USUAL, count) + b"".join(struct.pack("<II", *one) for one in parameters)
        gpu.jitc_fake_kernel(name.encode(), reply, c_size_t(len(reply)))
        assert gpu.cuModuleGetFunction(byref(c_uint64()), module, name.encode()) == 999
    gpu.jitc_fake_kernel(name.encode(), b"short", c_size_t(5))
    assert gpu.cuModuleGetFunction(byref(c_uint64()), module, name.encode()) == 999
    tell_kernel(gpu, name, [(0, 4)])
    gpu.ok("cuModuleGetFunction", byref(c_uint64()), module, name.encode())


def test_occupancy_is_remembered_until_an_attribute_changes(gpu: Cuda) -> None:
    kernel, blocks = Program(gpu).kernel(), c_int()
    ask = "cudaOccupancyMaxActiveBlocksPerMultiprocessor"
    gpu.ok(ask, byref(blocks), kernel, 128, c_size_t(1000))
    query = gpu.take()[-1]
    assert {key: value for key, value in query.fields.items() if key != "function"} == {
        "shared": 1000, "kind": 0, "block": 128, "flags": 0, "cluster": 0,
    }  # fmt: skip
    assert blocks.value == 1128
    gpu.ok(ask, byref(blocks), kernel, 128, c_size_t(1000))
    gpu.ok("cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(blocks), kernel, 128, c_size_t(1000))
    assert gpu.take() == []
    gpu.ok(ask + "WithFlags", byref(blocks), kernel, 128, c_size_t(1000), 1)
    assert [op.fields["flags"] for op in gpu.take()] == [1]
    gpu.ok("cudaFuncSetAttribute", kernel, CARVEOUT, 60)
    gpu.ok(ask, byref(blocks), kernel, 128, c_size_t(1000))
    assert names(gpu) == ["function_set", "function_query"]
    assert gpu.cudaOccupancyMaxActiveBlocksPerMultiprocessor(byref(blocks), kernel, 0, c_size_t(0)) == 1


def test_shared_memory_and_clusters_are_asked_for(gpu: Cuda) -> None:
    kernel, answer, size = Program(gpu).kernel(), c_int(), c_size_t()
    for call in ("cudaOccupancyAvailableDynamicSMemPerBlock", "cuOccupancyAvailableDynamicSMemPerBlock"):
        gpu.ok(call, byref(size), kernel, 4, 256)
        assert size.value == 1_000_000 + 256 + 4
    cluster = ctypes.create_string_buffer(struct.pack("<II64s", 4, 0, struct.pack("<III", 2, 2, 1)), 72)
    runtime = ctypes.create_string_buffer(
        struct.pack("<6IQQQI4x", 8, 1, 1, 64, 1, 1, 512, 0, ctypes.addressof(cluster), 1)
    )
    driver = ctypes.create_string_buffer(
        struct.pack("<7I4xQQI4x", 8, 1, 1, 64, 1, 1, 512, 0, ctypes.addressof(cluster), 1)
    )
    for prefix, config in (("cuda", runtime), ("cu", driver)):
        gpu.ok(prefix + "OccupancyMaxActiveClusters", byref(answer), kernel, config)
        assert answer.value == 3_000_000 + 64 + 512 + 4
        gpu.ok(prefix + "OccupancyMaxPotentialClusterSize", byref(answer), kernel, config)
        assert answer.value == 2_000_000 + 64 + 512 + 4
    assert names(gpu).count("function_query") == 3


def test_threads_ask_at_once(gpu: Cuda) -> None:
    kernel = Program(gpu).kernel()
    wrong: list[tuple[int, int]] = []

    def work(number: int) -> None:
        blocks, value = c_int(), c_int()
        for i in range(1, 100):
            gpu.ok("cudaOccupancyMaxActiveBlocksPerMultiprocessor", byref(blocks), kernel, i, c_size_t(number))
            gpu.ok("cudaFuncSetAttribute", kernel, CARVEOUT, i)
            gpu.ok("cuFuncGetAttribute", byref(value), CARVEOUT, kernel)
            if blocks.value != i + number or not 0 < value.value < 100:
                wrong.append((number, i))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong


def test_the_software_device_answers_from_its_limits(cuda: Cuda) -> None:
    host, blocks, attributes = c_uint32(), c_int(), FuncAttributes()
    cuda.ok("cudaFuncSetAttribute", byref(host), MAX_DYNAMIC, 1)
    cuda.ok("cudaOccupancyMaxActiveBlocksPerMultiprocessor", byref(blocks), byref(host), 256, c_size_t(0))
    cuda.ok("cudaFuncGetAttributes", byref(attributes), byref(host))
    assert (blocks.value, attributes.numbers[0], attributes.numbers[3]) == (4, 1024, 90)
    assert cuda.cudaFuncGetParamInfo(byref(host), c_size_t(0), byref(c_size_t()), byref(c_size_t())) == 801
    assert cuda.take() == []
