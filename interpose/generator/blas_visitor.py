"""Turns the cuBLAS functions that travel as they are into marshalling for both sides.

Called by ``jitc.interpose.generator``. Promise: the client's slots and the worker's template arguments are
made from the same list, one per argument, so that they cannot disagree; handle and host statuses have none.
"""

from __future__ import annotations

from jitc.interpose.spec.api import Argument, Function
from jitc.interpose.spec.cublas.functions import CUBLAS

_BANNER = "// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit.\n// clang-format off"
_SCALARS = {"half": 2, "float": 4, "int": 4, "double": 8, "complex": 8, "double_complex": 16}
_CHECKED = ("count", "increment", "leading")
_NUMBERS = {"int": "int32_t", "enum": "int32_t", "i64": "int64_t", **dict.fromkeys(_CHECKED, "int32_t")}


def forwarded() -> list[Function]:
    """Functions that become a ``blas_call``."""
    return sorted((f for f in CUBLAS.functions if "blas_call" in f.ops), key=lambda f: f.name)


def identifier(name: str) -> int:
    """FNV-1a, 32 bit: how a call names its function."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def role(argument: Argument) -> str:
    """handle, number, address, scalar, result or info."""
    if argument.type in ("blas", "info", "address"):
        return "handle" if argument.type == "blas" else argument.type
    if argument.direction == "in" and (argument.type in _SCALARS or argument.type == "scalar"):
        return "scalar"
    if argument.direction == "out" and (argument.type in _SCALARS or argument.type == "scalar"):
        return "result"
    if not argument.direction and argument.type in _NUMBERS:
        return "number"
    raise ValueError(f"no way to marshal {argument}")


def _bytes(argument: Argument) -> str:
    """C++ expression for the bytes of a scalar."""
    if argument.type != "scalar":
        return str(_SCALARS[argument.type])
    return "scalar_bytes(compute, type_c)" if argument.size == "compute" else f"element_bytes({argument.size})"


def _packed(argument: Argument) -> str:
    kind = role(argument)
    extra = f", {_bytes(argument)}" if kind in ("scalar", "result") else ""
    if argument.type in _CHECKED:
        kind, extra = argument.type, f", {argument.size}" if argument.size else ""
    return f".{kind}({argument.name}{extra})"


def _parameters(function: Function) -> str:
    return ", ".join(f"{a.cpp} {a.name}" for a in function.args)


def client_header() -> str:
    """``generated_blas_client.h``: the functions behind the wrappers on a device with kernels."""
    most = max(sum(role(a) not in ("handle", "info") for a in f.args) for f in forwarded())
    lines = [_BANNER, "#pragma once", '#include "api/common/abi_types.h"', "", "namespace jitc::api::forward {", ""]
    lines += ["/// Of one call.", f"inline constexpr uint32_t kMostSlots = {most};", ""]
    lines += [f"int32_t {f.name}({_parameters(f)});" for f in forwarded()]
    return "\n".join([*lines, "", "}  // namespace jitc::api::forward", ""])


def client_source() -> str:
    """``generated_blas_client.cpp``: each packs its arguments."""
    lines = [_BANNER, '#include "generated_blas_client.h"', '#include "api/cublas/blas_call.h"', ""]
    lines += ["namespace jitc::api::forward {", ""]
    for f in forwarded():
        packed = "".join(_packed(a) for a in f.args[1:])
        lines.append(f"int32_t {f.name}({_parameters(f)}) {{")
        lines.append(f'  return BlasCall({f.args[0].name}, "{f.name}", 0x{identifier(f.name):08x}){packed}.submit();')
        lines.append("}")
    return "\n".join([*lines, "", "}  // namespace jitc::api::forward", ""])


def _template_argument(argument: Argument) -> str:
    kind = role(argument)
    if kind == "number":
        return f"Number<{_NUMBERS[argument.type]}>"
    if kind == "scalar":
        return f"Scalar<{_SCALARS.get(argument.type, 0)}>"
    return {"address": "Address", "result": "Result", "info": "Info"}[kind]


def worker_table() -> str:
    """``generated_blas_worker.cpp``: what a worker may call, by identifier."""
    functions = sorted(forwarded(), key=lambda f: identifier(f.name))
    if len({identifier(f.name) for f in functions}) != len(functions):
        raise ValueError("two cuBLAS functions have the same identifier: rename by hand")
    lines = [_BANNER, '#include "blas_invoke.h"', "", "namespace jitc::cuda {", "", "// by identifier"]
    lines.append("const BlasFunction kBlasFunctions[] = {")
    for f in functions:
        arguments = ", ".join(_template_argument(a) for a in f.args[1:])
        lines.append(f'    {{0x{identifier(f.name):08x}, "{f.name}", signature<{arguments}>()}},')
    lines += ["};", f"const uint32_t kBlasFunctionCount = {len(functions)};", "", "}  // namespace jitc::cuda", ""]
    return "\n".join(lines)
