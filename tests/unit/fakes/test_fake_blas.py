"""The fake cuBLAS and cuBLASLt: products against numpy, pointer modes, state of handles, heuristics, epilogues."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_driver import Driver, copied
from toolkit.fakes import fake_calls

R32, BF16 = 0, 14
COMPUTE_32 = 68
INVALID, EXECUTION_FAILED, NOT_SUPPORTED = 7, 13, 15
NOT_READY, ILLEGAL_ADDRESS = 600, 700
SEED = np.random.default_rng(7)


class Blas:
    """A library with arguments that say what they are: int, float (alpha, beta), Address."""

    def __init__(self, driver: Driver, name: str, folder: Path) -> None:
        self.driver = driver
        self.library = ctypes.CDLL(str(copied(name, folder)))
        self.handle, self.stream = ctypes.c_void_p(), driver.stream()
        create = "cublasCreate_v2" if name == "cublas" else "cublasLtCreate"
        assert getattr(self.library, create)(ctypes.byref(self.handle)) == 0
        if name == "cublas":
            assert self.library.cublasSetStream_v2(self.handle, ctypes.c_void_p(self.stream)) == 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.library, name)

    def call(self, name: str, *args: Any) -> int:
        return int(getattr(self.library, name)(self.handle, *map(passed, args)))

    def put(self, array: np.ndarray[Any, Any]) -> Address:
        """On the device, by columns."""
        content = array.tobytes(order="F")
        place = self.driver.allocate(len(content))
        self.driver.write(place, content)
        return Address(place)

    def get(self, place: Address, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        self.driver.synchronize(self.stream)
        flat: np.ndarray[Any, Any] = np.frombuffer(self.driver.read(place, like.nbytes), like.dtype)
        return flat.reshape(like.shape, order="F")


class Address(int):
    """A device address or a stride: goes as 64 bits."""


def passed(value: Any) -> Any:
    if isinstance(value, Address):
        return ctypes.c_uint64(value)
    return value


def single(value: float) -> Any:
    return ctypes.byref(ctypes.c_float(value))


def double(value: float) -> Any:
    return ctypes.byref(ctypes.c_double(value))


def bfloat16(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Of values that bfloat16 has exactly."""
    return (array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    return SEED.integers(-4, 5, shape).astype(np.float32)


@pytest.fixture
def blas(driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Blas:
    monkeypatch.setenv("JITC_FAKE_CUDA", str(driver.path))
    return Blas(driver, "cublas", tmp_path)


@pytest.mark.parametrize("turn_a", [0, 1])
@pytest.mark.parametrize("turn_b", [0, 1])
def test_product(blas: Blas, turn_a: int, turn_b: int) -> None:
    a, b, c = numbers(3, 5), numbers(5, 2), numbers(3, 2)
    left, right = (a.T if turn_a else a), (b.T if turn_b else b)
    places = [blas.put(each) for each in (left, right, c)]
    arguments = (places[0], left.shape[0], places[1], right.shape[0], single(-1), places[2], 3)
    assert blas.call("cublasSgemm_v2", turn_a, turn_b, 3, 2, 5, single(2), *arguments) == 0
    assert np.array_equal(blas.get(places[2], c), 2 * (a @ b) - c)


def test_a_product_in_double_keeps_what_float_loses(blas: Blas) -> None:
    a, b = np.array([[1.0, 2.0**-40]]), np.array([[1.0], [1.0]])
    place = blas.put(np.zeros((1, 1)))
    arguments = (0, 0, 1, 1, 2, double(1), blas.put(a), 1, blas.put(b), 2, double(0), place, 1)
    assert blas.call("cublasDgemm_v2", *arguments) == 0
    assert blas.get(place, np.zeros((1, 1)))[0, 0] == 1 + 2.0**-40


def test_sixteen_bits_and_strides(blas: Blas) -> None:
    a, b = numbers(3, 2, 4), numbers(3, 4, 2)
    out = blas.put(np.zeros(12, np.uint16))
    left = blas.put(np.concatenate([bfloat16(each).ravel("F") for each in a]))
    right = blas.put(np.concatenate([bfloat16(each).ravel("F") for each in b]))
    shape = (0, 0, 2, 2, 4, single(1), left, BF16, 2, Address(8), right, BF16, 4, Address(8))
    rest = (single(0), out, BF16, 2, Address(4), 3, COMPUTE_32, -1)
    assert blas.call("cublasGemmStridedBatchedEx", *shape, *rest) == 0
    expected = np.concatenate([bfloat16(x @ y).ravel("F") for x, y in zip(a, b, strict=True)])
    assert np.array_equal(blas.get(out, expected), expected)


def test_batches_by_arrays_of_addresses(blas: Blas) -> None:
    pairs = [(numbers(2, 3), numbers(3, 2)) for _ in range(2)]
    lists = [[blas.put(pair[side]) for pair in pairs] for side in range(2)]
    lists.append([blas.put(np.zeros((2, 2), np.float32)) for _ in pairs])
    arrays = [blas.put(np.array(each, np.uint64)) for each in lists]
    shape = (0, 0, 2, 2, 3, single(1), arrays[0], R32, 2, arrays[1], R32, 3, single(0), arrays[2], R32, 2, 2)
    assert blas.call("cublasGemmBatchedEx", *shape, COMPUTE_32, -1) == 0
    for (a, b), place in zip(pairs, lists[2], strict=True):
        assert np.array_equal(blas.get(place, np.zeros((2, 2), np.float32)), a @ b)


def test_scalars_on_the_device_are_read_by_the_work(blas: Blas) -> None:
    a, place = numbers(2, 2), blas.put(np.zeros((2, 2), np.float32))
    scalars = blas.put(np.array([1, 0], np.float32))
    assert blas.call("cublasSetPointerMode_v2", 1) == 0
    gate = blas.driver.gate(blas.stream)
    alpha, beta = scalars, Address(scalars + 4)
    arguments = (alpha, blas.put(a), 2, blas.put(np.eye(2, dtype=np.float32)), 2, beta, place, 2)
    assert blas.call("cublasSgemm_v2", 0, 0, 2, 2, 2, *arguments) == 0
    blas.driver.write(scalars, struct.pack("<2f", 3, 0))
    gate.open()
    assert np.array_equal(blas.get(place, a), 3 * a)


def test_a_matrix_and_a_vector_with_steps(blas: Blas) -> None:
    a, x = numbers(3, 2), numbers(2)
    spread = np.zeros(4, np.float32)
    spread[::2] = x
    y = np.full(9, 7, np.float32)
    place = blas.put(y)
    arguments = (single(1), blas.put(a), 3, blas.put(spread), 2, single(1), place, 3)
    assert blas.call("cublasSgemv_v2", 0, 3, 2, *arguments) == 0
    y[::3] += a @ x
    assert np.array_equal(blas.get(place, y), y)


def test_a_result_on_the_host_is_there_when_the_call_returns(blas: Blas) -> None:
    x, y, out = numbers(50), numbers(50), ctypes.c_float()
    vectors = (blas.put(x), 1, blas.put(y), 1)
    assert blas.call("cublasSdot_v2", 50, *vectors, ctypes.byref(out)) == 0
    assert out.value == x @ y
    assert blas.call("cublasSnrm2_v2", 50, vectors[0], 1, ctypes.byref(out)) == 0
    assert out.value == pytest.approx(math.sqrt(x @ x))
    place = blas.put(np.zeros(1, np.float32))
    assert blas.call("cublasSetPointerMode_v2", 1) == 0
    gate = blas.driver.gate(blas.stream)
    assert blas.call("cublasSdot_v2", 50, *vectors, place) == 0
    assert blas.driver.query(blas.stream) == NOT_READY
    gate.open()
    assert blas.get(place, np.zeros(1, np.float32))[0] == x @ y


def test_vectors(blas: Blas) -> None:
    x, y = numbers(4), numbers(4)
    place = blas.put(y)
    assert blas.call("cublasSaxpy_v2", 4, single(3), blas.put(x), 1, place, 1) == 0
    assert blas.call("cublasSscal_v2", 4, single(2), place, 1) == 0
    assert np.array_equal(blas.get(place, y), 2 * (3 * x + y))


def test_the_log_has_the_state_of_the_handle(blas: Blas, fake_log: Path) -> None:
    a, workspace = blas.put(numbers(2, 2)), Address(blas.driver.allocate(4096))
    assert blas.call("cublasSetWorkspace_v2", workspace, Address(4096)) == 0
    assert blas.call("cublasSetMathMode", 3) == 0
    product = ("cublasSgemm_v2", 0, 0, 2, 2, 2, single(1), a, 2, a, 2, single(0), a, 2)
    assert blas.call(*product) == 0
    assert blas.cublasSetStream_v2(blas.handle, ctypes.c_void_p(blas.stream)) == 0  # drops the workspace
    assert blas.call(*product) == 0
    lines = [each.args for each in fake_calls(fake_log) if each.name == "cublasSgemm_v2"]
    assert [each["workspace"] for each in lines] == [hex(workspace), "0x0"]
    assert [each["math_mode"] for each in lines] == [3, 3]
    assert lines[0]["stream"] == hex(blas.stream) and lines[0]["alpha"] == 1
    assert struct.unpack("<7i", bytes.fromhex(lines[0]["shape"])) == (0, 0, 2, 2, 2, 1, COMPUTE_32)


def test_refusals(blas: Blas) -> None:
    a = blas.put(numbers(2, 2))
    assert blas.call("cublasSgemm_v2", 0, 0, 2, 2, 2, single(1), a, 1, a, 2, single(0), a, 2) == INVALID
    assert blas.call("cublasSgemm_v2", 5, 0, 2, 2, 2, single(1), a, 2, a, 2, single(0), a, 2) == INVALID
    assert blas.call("cublasSetPointerMode_v2", 2) == INVALID
    typed = (0, 0, 2, 2, 2, single(1), a, 99, 2, a, R32, 2, single(0), a, R32, 2, COMPUTE_32, -1)
    assert blas.call("cublasGemmEx", *typed) == NOT_SUPPORTED
    blas.handle = ctypes.c_void_p(5)
    assert blas.call("cublasSetPointerMode_v2", 1) == 1


def test_a_wrong_address_is_a_sticky_fault(blas: Blas) -> None:
    a = blas.put(numbers(2, 2))
    beyond = Address(a + (1 << 30))
    assert blas.call("cublasSgemm_v2", 0, 0, 2, 2, 2, single(1), a, 2, a, 2, single(0), beyond, 2) == 0
    assert blas.driver.cuStreamSynchronize(ctypes.c_void_p(blas.stream)) == ILLEGAL_ADDRESS
    assert blas.call("cublasSgemm_v2", 0, 0, 2, 2, 2, single(1), a, 2, a, 2, single(0), a, 2) == EXECUTION_FAILED


def test_a_product_in_a_graph(blas: Blas) -> None:
    place, driver, graph = blas.put(np.ones((1, 1), np.float32)), blas.driver, ctypes.c_void_p()
    two = blas.put(np.full((1, 1), 2, np.float32))
    driver.ok("cuStreamBeginCapture_v2", ctypes.c_void_p(blas.stream), 1)
    assert blas.call("cublasSgemm_v2", 0, 0, 1, 1, 1, single(1), two, 1, place, 1, single(0), place, 1) == 0
    driver.ok("cuStreamEndCapture", ctypes.c_void_p(blas.stream), ctypes.byref(graph))
    executable = driver.make("cuGraphInstantiateWithFlags", graph, ctypes.c_uint64(0))
    for _ in range(3):
        driver.ok("cuGraphLaunch", ctypes.c_void_p(executable), ctypes.c_void_p(blas.stream))
    assert blas.get(place, np.zeros((1, 1), np.float32))[0, 0] == 8


class Lt(Blas):
    """A product of cuBLASLt: D (3x2) = A (3x5) B (5x2), float."""

    def __init__(self, driver: Driver, folder: Path) -> None:
        super().__init__(driver, "cublaslt", folder)
        self.a, self.b, self.d = numbers(3, 5), numbers(5, 2), np.zeros((3, 2), np.float32)
        self.places = [self.put(each) for each in (self.a, self.b, self.d)]
        self.layouts = [self.layout(*each.shape) for each in (self.a, self.b, self.d)]
        self.description = self.make("cublasLtMatmulDescCreate", COMPUTE_32, R32)
        self.preference = self.make("cublasLtMatmulPreferenceCreate")
        self.set("cublasLtMatmulPreferenceSetAttribute", self.preference, 1, struct.pack("<Q", 4 << 20))
        self.workspace = Address(driver.allocate(1 << 20))

    def make(self, name: str, *args: Any) -> ctypes.c_void_p:
        out = ctypes.c_void_p()
        assert getattr(self.library, name)(ctypes.byref(out), *args) == 0
        return out

    def layout(self, rows: int, columns: int, type_: int = R32) -> ctypes.c_void_p:
        size = (ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(rows))
        return self.make("cublasLtMatrixLayoutCreate", type_, *size)

    def set(self, name: str, what: ctypes.c_void_p, attribute: int, value: bytes) -> None:
        assert getattr(self.library, name)(what, attribute, value, ctypes.c_size_t(len(value))) == 0

    def describe(self, attribute: int, value: bytes) -> None:
        self.set("cublasLtMatmulDescSetAttribute", self.description, attribute, value)

    def heuristics(self, most: int = 8) -> tuple[int, list[bytes]]:
        out, count = ctypes.create_string_buffer(96 * most), ctypes.c_int()
        objects = (self.description, *self.layouts, self.layouts[2], self.preference)
        status = self.call("cublasLtMatmulAlgoGetHeuristic", *objects, most, out, ctypes.byref(count))
        return status, [out.raw[96 * each : 96 * each + 96] for each in range(count.value)]

    def multiply(self, algorithm: bytes | None = None, workspace: int = 1 << 20) -> int:
        a, b, d = self.layouts
        places = self.places
        inputs = (single(1), places[0], a, places[1], b, single(0), places[2], d, places[2], d)
        last = (algorithm, self.workspace, Address(workspace), ctypes.c_void_p(self.stream))
        return self.call("cublasLtMatmul", self.description, *inputs, *last)

    def result(self) -> np.ndarray[Any, Any]:
        return self.get(self.places[2], self.d)


@pytest.fixture
def lt(driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lt]:
    monkeypatch.setenv("JITC_FAKE_CUDA", str(driver.path))
    yield Lt(driver, tmp_path)


def exact_gelu(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    out: np.ndarray[Any, Any] = 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))
    return out


@pytest.mark.parametrize("epilogue", [1, 2, 4, 6, 32, 36, 164])
def test_epilogues(lt: Lt, epilogue: int) -> None:
    bias, aux = numbers(3), lt.put(lt.d)
    lt.describe(7, struct.pack("<I", epilogue))
    lt.describe(8, struct.pack("<Q", lt.put(bias)))
    lt.describe(11, struct.pack("<Q", aux))
    lt.describe(12, struct.pack("<q", 3))
    assert lt.multiply() == 0
    expected = lt.a @ lt.b + (bias[:, None] if epilogue & 4 else 0)
    if epilogue & 128:
        assert np.array_equal(lt.get(aux, lt.d), expected)
    if epilogue & 2:
        expected = np.maximum(expected, 0)
    if epilogue & 32:
        expected = exact_gelu(expected.astype(np.float64))
    assert np.allclose(lt.result(), expected, rtol=1e-6)


def test_transposition_and_batches(lt: Lt) -> None:
    a = numbers(2, 5, 3)
    lt.places[0] = lt.put(np.concatenate([each.ravel("F") for each in a]))
    lt.places[2] = lt.put(np.zeros(12, np.float32))
    lt.layouts[0] = lt.layout(5, 3)
    lt.describe(3, struct.pack("<i", 1))
    for layout, offset in zip(lt.layouts, (15, 0, 6), strict=True):
        lt.set("cublasLtMatrixLayoutSetAttribute", layout, 5, struct.pack("<i", 2))
        lt.set("cublasLtMatrixLayoutSetAttribute", layout, 6, struct.pack("<q", offset))
    assert lt.multiply() == 0
    expected = np.concatenate([(each.T @ lt.b).ravel("F") for each in a])
    assert np.array_equal(lt.get(lt.places[2], expected), expected)


def test_an_algorithm_shows_in_the_result(lt: Lt) -> None:
    status, found = lt.heuristics()
    assert status == 0 and len(found) == 2
    assert [struct.unpack_from("<Qi", each, 64) for each in found] == [(1 << 20, 0), (0, 0)]
    content = SEED.random((3, 5), np.float32)
    lt.driver.write(lt.places[0], content.tobytes(order="F"))
    lt.driver.write(lt.places[1], SEED.random((5, 2), np.float32).tobytes(order="F"))
    results = []
    for each in found:
        assert lt.multiply(each[:64]) == 0
        results.append(lt.result().copy())
    assert np.allclose(results[0], results[1]) and not np.array_equal(results[0], results[1])
    assert lt.multiply(found[0][:64], 1 << 10) == INVALID  # its workspace is larger
    assert lt.multiply(bytes(64)) == INVALID


def test_heuristics_respect_the_preference(lt: Lt) -> None:
    lt.set("cublasLtMatmulPreferenceSetAttribute", lt.preference, 1, struct.pack("<Q", 1000))
    assert [len(lt.heuristics(most)[1]) for most in (1, 8)] == [1, 1]
    lt.describe(7, struct.pack("<I", 8 | 128))
    assert lt.heuristics()[0] == NOT_SUPPORTED
    lt.describe(7, struct.pack("<I", 1))
    lt.layouts[0] = lt.layout(3, 4)
    assert lt.heuristics()[0] == INVALID


def test_objects_live_until_they_are_destroyed(lt: Lt) -> None:
    out, written = ctypes.c_int64(), ctypes.c_size_t()
    reading = (ctypes.byref(out), ctypes.c_size_t(8), ctypes.byref(written))
    assert lt.cublasLtMatrixLayoutGetAttribute(lt.layouts[1], 4, *reading) == 0
    assert out.value == 5 and written.value == 8
    assert lt.cublasLtMatrixLayoutDestroy(lt.layouts[1]) == 0
    assert lt.cublasLtMatrixLayoutDestroy(lt.layouts[1]) == INVALID
    assert lt.multiply() == INVALID
