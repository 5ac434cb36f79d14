"""CUDA's public libraries as a program calls them, for cuda_training.py: whatever is preloaded answers.

Nothing here knows that it is not a GPU: registration as nvcc's code does it, modules, launches, products,
communicators. A call that fails ends the program with its name and status.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from ctypes import Structure, byref, c_float, c_int, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

cuda = ctypes.CDLL(None)
F32, COMPUTE_F32, GEMM_DEFAULT, TRANSPOSE = 0, 68, -1, 1
NCCL_F32, NCCL_SUM = 7, 0
NONE = c_void_p(0)
#: What the libraries keep pointers to: images, names.
_kept: list[Any] = []


class Dim3(Structure):
    _fields_ = (("x", c_uint32), ("y", c_uint32), ("z", c_uint32))


class UniqueId(Structure):
    _fields_ = (("bytes", c_uint8 * 128),)


class Heuristic(Structure):
    _fields_ = (
        ("algorithm", c_uint64 * 8), ("workspace", c_size_t), ("state", c_int), ("waves", c_float),
        ("reserved", c_int * 4),
    )  # fmt: skip


class LiveBlock(Structure):
    """Of jitc's own interface (jitc/client_api.h)."""

    _fields_ = (("address", c_uint64), ("bytes", c_uint64), ("ordinal", c_uint64))


def call(name: str, *arguments: Any) -> None:
    code = cuda[name](*arguments)
    if code:
        sys.exit(f"{name} gave {code}")


def made(name: str, *arguments: Any) -> int:
    """What the function writes to its first argument: a handle, an address."""
    out = c_uint64()
    call(name, byref(out), *arguments)
    return out.value


def keep(data: bytes) -> ctypes.Array[ctypes.c_char]:
    _kept.append(ctypes.create_string_buffer(data, len(data)))
    return _kept[-1]


def pointers(values: tuple[Any, ...]) -> ctypes.Array[c_void_p]:
    return (c_void_p * max(1, len(values)))(*map(ctypes.addressof, values))


class Compiled:
    """A fat binary, registered when its program starts; its kernels are launched by the address of a host function."""

    def __init__(self, content: bytes) -> None:
        image = keep(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(content)) + content)
        register = cuda["__cudaRegisterFatBinary"]
        register.restype = c_void_p
        self.handle = c_void_p(register(keep(struct.pack("<IIQQ", 0x466243B1, 1, ctypes.addressof(image), 0))))
        cuda["__cudaRegisterFatBinaryEnd"](self.handle)

    def kernel(self, name: str) -> c_uint64:
        host, text = keep(bytes(16)), keep(name.encode() + b"\0")
        cuda["__cudaRegisterFunction"](self.handle, host, text, text, c_int(-1), *[NONE] * 5)
        return c_uint64(ctypes.addressof(host))

    def variable(self, name: str, size: int) -> c_void_p:
        symbol, text = keep(bytes(16)), keep(name.encode() + b"\0")
        cuda["__cudaRegisterVar"](self.handle, symbol, text, text, c_int(0), c_size_t(size), c_int(0), c_int(0))
        return c_void_p(ctypes.addressof(symbol))


def launch(kernel: c_uint64, stream: int, *parameters: Any) -> None:
    """A compiled kernel."""
    one = Dim3(1, 1, 1)
    call("cudaLaunchKernel", kernel, one, Dim3(64, 1, 1), pointers(parameters), c_size_t(0), c_uint64(stream))


class Module:
    """An image loaded by the driver's API."""

    def __init__(self, content: bytes) -> None:
        self.handle = made("cuModuleLoadData", keep(content + b"\0"))

    def kernel(self, name: str) -> c_uint64:
        return c_uint64(made("cuModuleGetFunction", c_uint64(self.handle), name.encode()))

    def variable(self, name: str) -> tuple[int, int]:
        """Address and bytes."""
        address, size = c_uint64(), c_size_t()
        call("cuModuleGetGlobal_v2", byref(address), byref(size), c_uint64(self.handle), name.encode())
        return address.value, size.value


def launch_driver(kernel: c_uint64, stream: int, *parameters: Any) -> None:
    """A kernel of a module."""
    call("cuLaunchKernel", kernel, 1, 1, 1, 64, 1, 1, 0, c_uint64(stream), pointers(parameters), NONE)


class Products:
    """Square products of float32, in column order: cuBLAS and cuBLASLt."""

    def __init__(self, size: int, stream: int) -> None:
        self.size, self.stream = size, stream
        self.handle = c_uint64(made("cublasCreate_v2"))
        call("cublasSetStream_v2", self.handle, c_uint64(stream))
        self.lt = c_uint64(made("cublasLtCreate"))
        self.desc = c_uint64(made("cublasLtMatmulDescCreate", COMPUTE_F32, F32))
        shape = (F32, c_uint64(size), c_uint64(size), c_int64(size))
        self.layout = c_uint64(made("cublasLtMatrixLayoutCreate", *shape))
        self.algorithm = self._algorithm()

    def _algorithm(self) -> Heuristic:
        """As PyTorch chooses: the first that the library proposes for a workspace of no bytes."""
        preference, none = c_uint64(made("cublasLtMatmulPreferenceCreate")), c_uint64(0)
        call("cublasLtMatmulPreferenceSetAttribute", preference, 1, byref(none), c_size_t(8))
        found, count = Heuristic(), c_int()
        layouts = [self.layout] * 4
        rest = (preference, 1, byref(found), byref(count))
        call("cublasLtMatmulAlgoGetHeuristic", self.lt, self.desc, *layouts, *rest)
        call("cublasLtMatmulPreferenceDestroy", preference)
        return found

    def gemm(self, alpha: float, a: int, b: int, beta: float, c: int) -> None:
        """c = alpha a b + beta c"""
        n, matrices = self.size, [(c_uint64(at), self.size) for at in (a, b, c)]
        scalars = byref(c_float(alpha)), byref(c_float(beta))
        call("cublasSgemm_v2", self.handle, 0, 0, n, n, n, scalars[0], *matrices[0], *matrices[1], scalars[1],
             *matrices[2])  # fmt: skip

    def gemm_ex(self, alpha: float, a: int, b: int, beta: float, c: int) -> None:
        """c = alpha a' b + beta c"""
        n, matrices = self.size, [(c_uint64(at), F32, self.size) for at in (a, b, c)]
        scalars = byref(c_float(alpha)), byref(c_float(beta))
        call("cublasGemmEx", self.handle, TRANSPOSE, 0, n, n, n, scalars[0], *matrices[0], *matrices[1], scalars[1],
             *matrices[2], COMPUTE_F32, GEMM_DEFAULT)  # fmt: skip

    def matmul(self, alpha: float, a: int, b: int, d: int) -> None:
        """d = alpha a b, by cuBLASLt"""
        first, nothing = byref(c_float(alpha)), byref(c_float(0))
        at = [(c_uint64(one), self.layout) for one in (a, b, d, d)]
        rest = (byref(self.algorithm), NONE, c_size_t(0), c_uint64(self.stream))
        call("cublasLtMatmul", self.lt, self.desc, first, *at[0], *at[1], nothing, *at[2], *at[3], *rest)


def unique_id() -> str:
    identity = UniqueId()
    call("ncclGetUniqueId", byref(identity))
    return bytes(identity.bytes).hex()


def communicator(identity: str, ranks: int, rank: int) -> c_uint64:
    words = UniqueId((c_uint8 * 128)(*bytes.fromhex(identity)))
    return c_uint64(made("ncclCommInitRank", c_int(ranks), words, c_int(rank)))


def all_reduce(address: int, count: int, comm: c_uint64, stream: int) -> None:
    """In place, the sum of float32."""
    at = c_uint64(address)
    call("ncclAllReduce", at, at, c_size_t(count), NCCL_F32, NCCL_SUM, comm, c_uint64(stream))
