"""What a compiled CUDA program registers, and what the fake session layer is to know of it."""

from __future__ import annotations

import ctypes
import itertools
import struct
from collections.abc import Sequence
from ctypes import c_char_p, c_int, c_size_t, c_uint64, c_void_p

from api_rig import Cuda

_NUMBER = itertools.count()
#: What is registered must stay in memory.
_PROGRAMS: list[Program] = []
INFO = struct.Struct("<16iQ")  # FunctionInfo
#: Unless a test says otherwise: threads, static shared, constant, local, registers, PTX, binary, cache,
#: dynamic shared, carve-out, and nothing of clusters.
USUAL = (1024, 64, 32, 16, 40, 90, 90, 0, 49152, -1, 0, 0, 0, 0, 0, 0)


def unique(name: str) -> str:
    """Kernels and variables are told apart by name, over all tests."""
    return f"_Z{name}{next(_NUMBER)}"


def fat_binary(content: bytes) -> bytes:
    """A fat binary as far as anything but the driver looks into it."""
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(content)) + content


def tell_kernel(cuda: Cuda, name: str, parameters: Sequence[tuple[int, int]], info: Sequence[int] = USUAL) -> None:
    reply = INFO.pack(*info, len(parameters)) + b"".join(struct.pack("<II", *one) for one in parameters)
    cuda.jitc_fake_kernel(name.encode(), reply, c_size_t(len(reply)))


class Program:
    """One fat binary with its kernels and variables, registered as nvcc's code does it."""

    def __init__(self, cuda: Cuda, content: bytes | None = None) -> None:
        self.cuda = cuda
        self.image = fat_binary(content if content is not None else unique("image").encode())
        self._kept: list[object] = []
        _PROGRAMS.append(self)
        data = self._keep(self.image)
        wrapper = struct.pack("<IIQQ", 0x466243B1, 1, ctypes.addressof(data), 0)
        register = cuda.library["__cudaRegisterFatBinary"]
        register.restype = c_void_p
        self.handle = c_void_p(register(self._keep(wrapper)))
        cuda.library["__cudaRegisterFatBinaryEnd"](self.handle)

    def _keep(self, data: bytes) -> ctypes.Array[ctypes.c_char]:
        buffer = ctypes.create_string_buffer(data, len(data))
        self._kept.append(buffer)
        return buffer

    def kernel(
        self, parameters: Sequence[tuple[int, int]] = (), info: Sequence[int] = USUAL, name: str = ""
    ) -> c_uint64:
        """Registers a kernel with these parameters (offset, bytes); returns its host function."""
        name = name or unique("kernel")
        tell_kernel(self.cuda, name, parameters, info)
        host = self._keep(bytes(16))
        text = self._keep(name.encode() + b"\0")
        nothing = c_void_p(0)
        self.cuda.library["__cudaRegisterFunction"](
            self.handle, host, text, text, c_int(-1), nothing, nothing, nothing, nothing, nothing
        )
        return c_uint64(ctypes.addressof(host))

    def variable(self, size: int, address: int, name: str = "") -> c_void_p:
        """Registers a variable that lies at the address; returns its symbol."""
        name = name or unique("variable")
        self.cuda.jitc_fake_variable(name.encode(), c_uint64(address), c_uint64(size))
        symbol = self._keep(bytes(16))
        text = self._keep(name.encode() + b"\0")
        self.cuda.library["__cudaRegisterVar"](
            self.handle, symbol, text, text, c_int(0), c_size_t(size), c_int(0), c_int(0)
        )
        return c_void_p(ctypes.addressof(symbol))

    def unregister(self) -> None:
        self.cuda.library["__cudaUnregisterFatBinary"](self.handle)


def pointers(
    *values: ctypes.Array[ctypes.c_char] | ctypes._SimpleCData[int] | ctypes.Structure,
) -> ctypes.Array[c_void_p]:
    """The array of pointers to arguments that a launch takes. The values must stay alive until then."""
    return (c_void_p * max(1, len(values)))(*(ctypes.addressof(one) for one in values))


def text(value: c_char_p) -> str:
    return (value.value or b"").decode()
