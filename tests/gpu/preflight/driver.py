"""The CUDA driver's functions for probes and programs, through ctypes: a refusal is an exception with its name.

Called by: the probes; programs/costs.py and programs/driver_job.py, which pass what the interposer has preloaded.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p
from typing import Any

GIB, MIB = 1 << 30, 1 << 20
NON_BLOCKING = 1
HOST_PORTABLE, HOST_MAPPED = 1, 2


class Refused(Exception):
    """A call gave an error, or is not there."""

    def __init__(self, name: str, code: int, text: str) -> None:
        super().__init__(f"{name} gave {code} ({text})")
        self.code = code


class Place(ctypes.Structure):
    """CUmemLocation: a device."""

    _fields_ = (("type", c_int), ("id", c_int))


class Properties(ctypes.Structure):
    """CUmemAllocationProp, with zeros at its end."""

    _fields_ = (("type", c_int), ("handles", c_int), ("place", Place), ("rest", c_uint64 * 2))


class Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = (("place", Place), ("flags", c_int))


class Driver:
    """A library with the driver's functions; without a path what is in the process (the interposer)."""

    def __init__(self, path: str | None) -> None:
        self.library = ctypes.CDLL(path, ctypes.RTLD_GLOBAL)

    def __call__(self, name: str, *arguments: Any) -> None:
        code = self.status(name, *arguments)
        if code:
            raise Refused(name, code, self._text(code))

    def status(self, name: str, *arguments: Any) -> int:
        try:
            function = getattr(self.library, name)
        except AttributeError:
            raise Refused(name, -1, "the driver does not have it") from None
        return int(function(*arguments))

    def number(self, name: str, *arguments: Any) -> int:
        """What the function writes to its first argument, an int."""
        out = c_int()
        self(name, byref(out), *arguments)
        return out.value

    def handle(self, name: str, *arguments: Any) -> c_uint64:
        """The same for what is as large as a pointer."""
        out = c_uint64()
        self(name, byref(out), *arguments)
        return out

    def context(self, ordinal: int = 0) -> int:
        """Makes the primary context current; the device."""
        self("cuInit", 0)
        device = self.number("cuDeviceGet", ordinal)
        self("cuCtxSetCurrent", self.handle("cuDevicePrimaryCtxRetain", device))
        return device

    def memory(self) -> tuple[int, int]:
        """Free and total bytes, of the current context's device."""
        free, total = c_size_t(), c_size_t()
        self("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value, total.value

    def allocate(self, size: int) -> c_uint64:
        return self.handle("cuMemAlloc_v2", c_size_t(size))

    def reserve(self, size: int, base: int) -> int:
        """Addresses, wanted at base; where they are."""
        alignment, flags = c_size_t(2 * MIB), c_uint64(0)
        return self.handle("cuMemAddressReserve", c_size_t(size), alignment, c_uint64(base), flags).value

    def module(self, ptx: str) -> c_uint64:
        return self.handle("cuModuleLoadData", ptx.encode() + b"\0")

    def function(self, module: c_uint64, name: str) -> c_uint64:
        return self.handle("cuModuleGetFunction", module, name.encode())

    def variable(self, module: c_uint64, name: str) -> int:
        address, size = c_uint64(), c_size_t()
        self("cuModuleGetGlobal_v2", byref(address), byref(size), module, name.encode())
        return address.value

    def launch(self, function: c_uint64, stream: c_uint64 | None, *parameters: Any, blocks: int = 1) -> None:
        pointers = (c_void_p * max(1, len(parameters)))(*map(ctypes.addressof, parameters))
        self("cuLaunchKernel", function, blocks, 1, 1, 256, 1, 1, 0, stream, pointers, None)

    def _text(self, code: int) -> str:
        text = ctypes.c_char_p()
        known = getattr(self.library, "cuGetErrorName", None)
        if known is None or known(code, byref(text)) or not text.value:
            return "an error without a name"
        return text.value.decode()
