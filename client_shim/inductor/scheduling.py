"""Inductor's back end for the software device: its C++ kernels for CPUs, compiled here and run by the worker.

Called by: registration.py, once Inductor is imported; then Inductor. Promises: a kernel gives the same bytes each time,
so one thread does work whose order would depend on threads; kernels of the CPU's own tensors are unchanged; compiled
code does not depend on measured times.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterator
from typing import Any

import torch
from torch._inductor import codecache, config, scheduler
from torch._inductor.codegen.cpp import CppScheduling, KernelGroup
from torch._inductor.codegen.wrapper import PythonWrapperCodegen
from torch._inductor.virtualized import V

from jitc.client_shim.inductor.refusals import NO_CPP_WRAPPER, CannotCompile, check_compiler

_DEVICE = "cuda"
#: What a kernel calls when an index is wrong, and what adds from several threads in whatever order they come.
_FOR_ONE_THREAD = re.compile(r"\b(?:TORCH_CHECK|AOTI_TORCH_CHECK|atomic_add\w*)\(")
_PRAGMA = re.compile(r"^\s*#pragma omp .*$", re.MULTILINE)
_MARK = "// for the worker"
_LOADER = "compile_for_worker"


def register(common: Any) -> None:
    """Makes Inductor's kernels for the device here from now on."""
    common.register_backend_for_device(_DEVICE, WorkerScheduling, PythonWrapperCodegen, _NoCppWrapper)
    plain = scheduler.Scheduler.create_backend

    def create_backend(self: Any, device: torch.device) -> Any:
        """Creates the back end; PyTorch's own function insists on Triton for this device."""
        if device.type != _DEVICE:
            return plain(self, device)
        check_compiler()
        V.graph.add_device_info(device)
        return WorkerScheduling(self)

    scheduler.Scheduler.create_backend = create_backend  # type: ignore[method-assign]
    _settle(config, shape_padding=False, deterministic=True)  # would depend on what is faster at the moment
    # Asks for what kernels have in Triton's form: reductions of its own, groups of loops that are merged.
    _settle(config, cuda_backend="cpp", loop_ordering_after_fusion=False)
    _keep_caches_apart()


def _settle(settings: Any, **values: bool | str) -> None:
    """Sets Inductor's options; not all releases have all of them."""
    for name, value in values.items():
        if hasattr(settings, name):
            setattr(settings, name, value)


def _threads() -> int:
    """Returns the threads of one kernel in the worker: as many as for its other operators, which the device reports."""
    return int(torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count)


def _keep_caches_apart() -> None:
    """Separates the caches: a program on another device, or with other threads, must not find code compiled for this
    one."""
    plain = codecache.CacheBase.get_system

    @functools.cache
    def get_system() -> dict[str, Any]:
        system = dict(plain())
        system["hash"] = f"{system['hash']}-jitc-1-{_threads()}"
        return system

    codecache.CacheBase.get_system = staticmethod(get_system)  # type: ignore[method-assign, assignment]


class _NoCppWrapper(PythonWrapperCodegen):  # type: ignore[misc]
    """Replaces the wrappers that call device memory's kernels from this process."""

    @staticmethod
    def create(*_arguments: Any, **_keywords: Any) -> Any:
        raise CannotCompile(NO_CPP_WRAPPER)


class _Group(KernelGroup):  # type: ignore[misc]
    def call_kernel(self, wrapper: Any, kernel_name: str) -> None:
        """Writes the call as on a CPU: the stream is the current one, which the call finds by itself."""
        _, arguments, _ = self.args.cpp_argdefs()
        wrapper.writeline(wrapper.wrap_kernel_call(kernel_name, arguments))


class WorkerScheduling(CppScheduling):  # type: ignore[misc]
    """C++ kernels for which the generated module has worker functions instead of functions of its own process."""

    def reset_kernel_group(self) -> None:
        self.kernel_group = _Group()

    def codegen_node(self, node: Any) -> None:
        with config.patch({"cpp.threads": _threads()}):
            super().codegen_node(node)

    def define_kernel(self, src_code: str, nodes: Any, kernel_args: Any = None) -> str:
        wrapper = V.graph.wrapper_code
        with _defined_for_worker(wrapper):
            # The mark keeps a kernel of CPU tensors with the same code apart.
            return str(super().define_kernel(f"{_in_one_order(src_code)}\n{_MARK}\n", nodes, kernel_args))


def _in_one_order(code: str) -> str:
    """Removes OpenMP if one thread must run the code; an exception cannot leave a region of OpenMP either."""
    return _PRAGMA.sub("", code) if _FOR_ONE_THREAD.search(code) else code


@contextlib.contextmanager
def _defined_for_worker(wrapper: Any) -> Iterator[None]:
    """Makes kernels that the generated module defines come from host_kernels.py while it lasts."""
    plain = wrapper.define_kernel

    def define_kernel(kernel_name: str, kernel_body: str, *arguments: Any, **keywords: Any) -> None:
        wrapper.add_import_once(f"from jitc.client_shim.inductor.host_kernels import {_LOADER}")
        body = kernel_body.replace("async_compile.cpp_pybinding(", f"{_LOADER}(async_compile, ", 1)
        plain(kernel_name, body, *arguments, **keywords)

    wrapper.define_kernel = define_kernel
    try:
        yield
    finally:
        del wrapper.define_kernel
