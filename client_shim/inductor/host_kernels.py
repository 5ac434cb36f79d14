"""Kernels that Inductor has generated: compiled here to a shared library each, called in the worker.

Called by: the modules that Inductor generates (scheduling.py puts the call there). Promises: the library is sent to the
worker once, by its content, at its kernel's first call; a call is an op like any other; a call that cannot be sent
raises, with the service's text.
"""

from __future__ import annotations

import ctypes
import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch._inductor.async_compile import AsyncCompile, get_compile_threads
from torch._inductor.codecache import CppCodeCache, LambdaFuture

from jitc.client_shim.inductor import library_files, refusals

_ENTRY = "jitc_host_kernel"  # proxy/native/include/jitc/host_entry.h
_KERNEL = re.compile(r'extern "C"\s+void\s+(?:C10_ALWAYS_INLINE_ATTRIBUTE\s+)?kernel\(')
_ENTRY_CODE = """
#include <cstdio>
#include <cstring>
#include <exception>

extern "C" __attribute__((visibility("default"))) const char* {entry}(void* const* a, uint64_t count) noexcept {{
  static thread_local char why[1024];
  if (count != {count}) return "it was called with another number of arguments than it has";
  try {{
    kernel({arguments});
    return nullptr;
  }} catch (const std::exception& error) {{
    std::snprintf(why, sizeof why, "%.*s", static_cast<int>(std::strcspn(error.what(), "\\n")), error.what());
  }} catch (...) {{
    std::snprintf(why, sizeof why, "it threw something that is no exception");
  }}
  return why;
}}
"""


def compile_for_worker(compiler: AsyncCompile, types: Sequence[str], source: str) -> Any:
    """Returns the kernel, or a future of it while the compiler runs; in place of AsyncCompile.cpp_pybinding."""
    refusals.check_compiler()
    code = f"// for processor {library_files.processor()}\n"
    code += _KERNEL.sub("static void kernel(", source) + _ENTRY_CODE.format(
        entry=_ENTRY, count=len(types), arguments=", ".join(_argument(one, at) for at, one in enumerate(types))
    )
    if get_compile_threads() <= 1:  # then PyTorch waits for nothing
        return HostKernel(_Libraries.load_async(code)().path, types)
    library = _Libraries.load_async(code, submit_fn=compiler.submit)
    return LambdaFuture(lambda: HostKernel(library().path, types))


def _argument(kind: str, at: int) -> str:
    plain = kind.removeprefix("const ")
    return f"static_cast<{kind}>(a[{at}])" if plain.endswith("*") else f"*static_cast<const {plain}*>(a[{at}])"


@dataclasses.dataclass
class _Library:
    path: str
    key: str = ""  # which PyTorch sets


class _Libraries(CppCodeCache):
    """Compiles libraries, and loads nothing into this process."""

    cache: dict[str, Any] = {}  # noqa: RUF012 (PyTorch's own form)
    cpp_compile_command_flags: dict[str, Any] = {"include_pytorch": False, "shared": True}  # noqa: RUF012

    @staticmethod
    def _load_library_inner(path: str, key: str) -> Any:
        library_files.check(Path(path))
        return _Library(path, key)


class HostKernel:
    """A kernel as the generated code calls it: with tensors and numbers, in the order of its parameters."""

    def __init__(self, path: str, types: Sequence[str]) -> None:
        self._kernel = ctypes.c_uint64()
        self._order = "".join(_letter(one) for one in types)
        self._by_letter = {one: [at for at, other in enumerate(self._order) if other == one] for one in "rwif"}
        self._functions: dict[int, int] = {}  # by device
        self._call = torch.ops.jitc_client.host_kernel.default
        if _interposer().jitc_host_kernel_open(path.encode(), _ENTRY.encode(), ctypes.byref(self._kernel)):
            raise refusals.CannotCompile(f"jitc: the compiled kernel {path} is cut off, no library, or not there")

    def __call__(self, *arguments: Any) -> None:
        reads, writes, integers, reals = ([arguments[at] for at in places] for places in self._by_letter.values())
        device = writes[0].get_device()
        function = self._functions.get(device)
        if function is None:
            function = self._on(device)
        self._call(function, reads, writes, integers, reals, self._order)

    def _on(self, device: int) -> int:
        function = ctypes.c_uint64()
        _check(_interposer().jitc_host_kernel_on(self._kernel, device, ctypes.byref(function)))
        # An integer of PyTorch's has a sign.
        return self._functions.setdefault(device, ctypes.c_int64(function.value).value)


def _letter(kind: str) -> str:
    if kind.endswith("*"):
        return "r" if kind.startswith("const ") else "w"
    return "f" if kind.endswith(("float", "double")) else "i"


def _interposer() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _check(status: int) -> None:
    if not status:
        return
    interposer = _interposer()
    interposer.jitc_last_message.restype = ctypes.c_char_p
    why = interposer.jitc_last_message().decode() or f"cudaError_t {status}"
    raise refusals.CannotCompile(f"jitc: a compiled kernel cannot be brought to the worker: {why}")
