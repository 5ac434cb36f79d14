"""Turns the functions of cuBLAS and cuBLASLt that are sent unchanged into marshalling for both sides.

Called by ``jitc.interpose.generator``. Promise: that of ``call_visitor``. The client's side of cuBLASLt is written by
hand: its calls carry the objects of a product with them.
"""

from __future__ import annotations

from jitc.interpose.generator.call_visitor import (
    CODE,
    SCALARS,
    by_value,
    identifier,
    parameters,
    slots,
    table,
    worker_source,
)
from jitc.interpose.spec.api import Argument, Function
from jitc.interpose.spec.cublas.functions import CUBLAS
from jitc.interpose.spec.cublas.lt import CUBLASLT

_CARRIERS = {"library_call", "library_ask"}


def forwarded() -> list[Function]:
    """Returns the functions of cuBLAS that become a ``library_call``."""
    return sorted((f for f in CUBLAS.functions if _CARRIERS & set(f.ops)), key=lambda f: f.name)


def _bytes(argument: Argument) -> str:
    """Returns the C++ expression for the bytes of a scalar."""
    if argument.type != "scalar":
        return str(SCALARS[argument.type])
    return "scalar_bytes(compute, type_c)" if argument.size == "compute" else f"element_bytes({argument.size})"


def _packed(a: Argument) -> str:
    if a.type == "info":
        return f".info({a.name})"
    if a.direction:
        return f".{'scalar' if a.direction == 'in' else 'result'}({a.name}, {_bytes(a)})"
    if a.type in ("count", "increment", "leading"):
        return f".{a.type}({a.name}{f', {a.size}' if a.size else ''})"
    return f".{by_value(a)}({a.name})"


def client_header() -> str:
    """Returns ``generated_blas_client.h``: the functions behind the wrappers on a device with kernels."""
    most = max(len(slots(f)) for f in forwarded())
    lines = [CODE, "#pragma once", '#include "api/common/abi_types.h"', "", "namespace jitc::api::forward {", ""]
    lines += ["/// Of one call.", f"inline constexpr uint32_t kMostSlots = {most};", ""]
    lines += [f"int32_t {f.name}({parameters(f)});" for f in forwarded()]
    return "\n".join([*lines, "", "}  // namespace jitc::api::forward", ""])


def client_source() -> str:
    """Returns ``generated_blas_client.cpp``: each function packs its arguments."""
    lines = [CODE, '#include "generated_blas_client.h"', '#include "api/cublas/blas_call.h"', ""]
    lines += ["namespace jitc::api::forward {", ""]
    for f in forwarded():
        packed = "".join(_packed(a) for a in f.args[1:])
        lines.append(f"int32_t {f.name}({parameters(f)}) {{")
        lines.append(f'  return BlasCall({f.args[0].name}, "{f.name}", 0x{identifier(f.name):08x}){packed}.submit();')
        lines.append("}")
    return "\n".join([*lines, "", "}  // namespace jitc::api::forward", ""])


def worker_table() -> str:
    """Returns ``generated_blas_worker.cpp``: the functions that a worker may call, by identifier."""
    lt = [f for f in CUBLASLT.functions if _CARRIERS & set(f.ops)]
    return worker_source("blas_library.h", table("kBlasFunctions", forwarded()), table("kLtFunctions", lt))
