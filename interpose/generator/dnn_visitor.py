"""Turns the cuDNN functions that are sent unchanged into marshalling for both sides.

Called by ``jitc.interpose.generator``. Promise: that of ``call_visitor``.
"""

from __future__ import annotations

import re

from jitc.interpose.generator.call_visitor import (
    BANNER,
    CODE,
    RESULTS,
    by_value,
    identifier,
    parameters,
    table,
    worker_source,
)
from jitc.interpose.spec.api import Argument, Function
from jitc.interpose.spec.cudnn import graph
from jitc.interpose.spec.cudnn.functions import CUDNN

_CREATE, _DESTROY = re.compile(r"^cudnnCreate\w+Descriptor$"), re.compile(r"^cudnnDestroy\w+Descriptor$")


def _generic() -> list[Function]:
    """Returns the functions that are neither written by hand nor refused, and no part of the graph API."""
    by_hand = {f.name for f in graph.GRAPH} | {"cudnnDestroy", "cudnnSetStream", "cudnnGetStream"}
    policies = ("Local", "Sync", "Op")
    found = [f for f in CUDNN.functions if f.policy in policies and f.kernels and f.name not in by_hand]
    return sorted(found, key=lambda f: f.name)


def _calls() -> list[Function]:
    """Returns the generic functions that the worker calls with slots."""
    return [f for f in _generic() if not _CREATE.match(f.name) and not _DESTROY.match(f.name)]


def _role(a: Argument) -> str:
    """Returns the argument's role: number, real, descriptor, address, scalar, array or result."""
    if a.direction == "in":
        return "scalar" if a.type == "scalar" else "array"
    if a.direction == "out":
        return "result"
    return by_value(a)


def _kind(name: str) -> str:
    return f"ops::ObjectKind::{name}"


def _packed(f: Function, a: Argument) -> str:
    if a.type == "dnn":
        return f".uses({a.name})"
    what = _role(a)
    if what == "number" and a.name == "data_type":
        return f".data_type({a.name})"
    if what == "array":
        return f".{'sizes' if a.name == 'sizes' else 'array'}({a.name}, {a.size})"
    if what == "scalar":
        return f".scalar({a.name}, {_scalar_bytes(f, a)})"
    if what == "result":
        # The size is computed in 64 bits: the program chooses the number of elements.
        size = RESULTS.get(a.type) or re.sub(r"^(\w+)", r"int64_t{\1}", a.size)
        return f".result({a.name}, {size})"
    extra = _kind(a.size) if what == "descriptor" else ""
    return f".{what}({a.name}{', ' if extra else ''}{extra})"


def _scalar_bytes(f: Function, a: Argument) -> str:
    of = next(one for one in f.args if one.name == a.size)
    return f"scalar_bytes({of.name})" if of.type == "descriptor" else f"dnn_element_bytes({of.name})"


def client_source() -> str:
    """Returns ``generated_dnn_client.cpp``: each function packs its arguments."""
    lines = [CODE, '#include "api/cudnn/dnn_call.h"', "", "namespace jitc::api {", ""]
    for f in _generic():
        lines += [f"int32_t {f.name}({parameters(f)}) {{", f"  return {_body(f)};", "}"]
    return "\n".join([*lines, "", "}  // namespace jitc::api", ""])


def _body(f: Function) -> str:
    first = f.args[0]
    if _CREATE.match(f.name):
        return f"create_descriptor({_kind(first.size)}, {first.name})"
    if _DESTROY.match(f.name):
        return f"destroy_descriptor({_kind(first.size)}, {first.name})"
    packed = "".join(_packed(f, a) for a in f.args[1:])
    named = f'{first.name}, "{f.name}", 0x{identifier(f.name):08x}'
    if f.policy == "Local":
        return f"DnnChange({_kind(first.size)}, {named}){packed}.apply()"
    return f"DnnCall({named}){packed}.{'ask' if f.policy == 'Sync' else 'run'}()"


def worker_table() -> str:
    """Returns ``generated_dnn_worker.cpp``: the functions that a worker may call, by identifier."""
    names = [f.name for f in CUDNN.functions]
    if len({identifier(name) for name in names}) != len(names):
        raise ValueError("two cuDNN functions have the same identifier: rename by hand")
    return worker_source("dnn_library.h", table("kDnnFunctions", _calls()))


def header() -> str:
    """Returns ``jitc/generated_dnn.h``: what both sides know of the library."""
    lines = [CODE, "#pragma once", "#include <cstdint>", "", "namespace jitc::ops {", ""]
    lines += ["/// Descriptors and attributes of the graph API that are looked at."]
    lines += [f"inline constexpr int32_t kDnn_{name} = {at};" for name, at in sorted(graph.DESCRIPTORS.items())]
    lines += [f"inline constexpr int32_t kDnn_{name} = {at};" for name, at in sorted(graph.ATTRIBUTES.items())]
    lines += [f"inline constexpr int32_t kDnnType_{name} = {at};" for at, (name, _) in sorted(_types().items())]
    lines += ["", "/// Functions that are called by hand-written code."]
    by_hand = ("GetVersion", "GetRNNWeightParams", "SetDropoutDescriptor", "RestoreDropoutDescriptor")
    backend = ("BackendCreateDescriptor", "BackendSetAttribute", "BackendGetAttribute", "BackendFinalize")
    setters = ("SetTensorNdDescriptor", "SetFilterNdDescriptor")
    lines += [
        f"inline constexpr uint32_t kDnn{name} = 0x{identifier(f'cudnn{name}'):08x};"
        for name in (*by_hand, *backend, *setters)
    ]
    lines += ["", "/// Bytes of an element of a cudnnBackendAttributeType_t; 0: an unknown type."]
    lines += ["constexpr uint32_t dnn_attribute_bytes(int32_t type) {", "  switch (type) {"]
    lines += [f"    case {at}: return {size};  // {name}" for at, (name, size) in sorted(_types().items())]
    last = graph.LAST_TYPE[1]
    lines += [f"    default: return type > 0 && type <= {last} ? 4 : 0;  // enumerations", "  }", "}", ""]
    lines += ["/// Name of a cudnnStatus_t.", "constexpr const char* dnn_status_name(int32_t status) {"]
    lines += ["  switch (status) {"]
    lines += [f'    case {at}: return "CUDNN_STATUS_{name}";' for at, name in sorted(graph.STATUSES.items())]
    lines += ['    default: return "CUDNN_UNKNOWN_STATUS";', "  }", "}", "", "}  // namespace jitc::ops", ""]
    return "\n".join(lines)


def _types() -> dict[int, tuple[str, int]]:
    return graph.ATTRIBUTE_TYPES


def check() -> str:
    """Returns static assertions on the real enumerations."""
    lines = [BANNER, "#include <cudnn.h>", ""]
    last_name, last = graph.LAST_TYPE
    lines += [f"static_assert(CUDNN_TYPE_{name} == {at});" for at, (name, _) in sorted(_types().items())]
    lines += [f"static_assert(CUDNN_TYPE_{last_name} == {last});", "static_assert(sizeof(cudnnFraction_t) == 16);"]
    lines += ["static_assert(sizeof(cudnnBackendHeurMode_t) == 4);"]
    lines += [f"static_assert(CUDNN_ATTR_{name} == {at});" for name, at in sorted(graph.ATTRIBUTES.items())]
    lines += [
        f"static_assert(CUDNN_BACKEND_{name}_DESCRIPTOR == {at});" for name, at in sorted(graph.DESCRIPTORS.items())
    ]
    lines += [f"static_assert(CUDNN_STATUS_{name} == {at});" for at, name in sorted(graph.STATUSES.items())]
    for which in ("Fwd", "BwdData", "BwdFilter"):
        lines.append(f"static_assert(sizeof(cudnnConvolution{which}AlgoPerf_t) == 48);")
    return "\n".join([*lines, ""])
