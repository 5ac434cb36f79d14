"""Turns functions of NVIDIA's libraries that are sent unchanged into both sides' knowledge of their arguments.

Called by ``blas_visitor`` and ``dnn_visitor``. Promise: the client's slots and the worker's template arguments are made
from the same list, one per argument, so that they cannot disagree; handles, streams, the descriptor that a function
changes and statuses on the host have no slot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from jitc.interpose.spec.api import Argument, Function

BANNER = "// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit."
CODE = f"{BANNER}\n// clang-format off"
#: by-value numbers -> the type that the library takes
NUMBERS = {
    "int": "int32_t",
    "enum": "int32_t",
    "uint": "uint32_t",
    "size": "size_t",
    "i64": "int64_t",
    "u64": "uint64_t",
    **dict.fromkeys(("count", "increment", "leading"), "int32_t"),
}
REALS = ("float", "double")
#: results of one number -> bytes
RESULTS = {"size": 8, "int": 4}
#: scalars, by value or by address as the pointer mode of cuBLAS says -> bytes; 0: other arguments give the size
SCALARS = {"half": 2, "float": 4, "int": 4, "double": 8, "complex": 8, "double_complex": 16, "scalar": 0}
#: objects of cuBLASLt -> ObjectKind
LT_OBJECTS = {"matmul_desc": "lt_descriptor", "layout": "lt_layout", "preference": "lt_preference"}
#: Types without a slot. The first argument, a handle or the object that is changed, has none either.
_WITHOUT_SLOT = {"dnn": "Handle", "info": "Info", "stream": "OnStream"}


def identifier(name: str) -> int:
    """Returns the identifier by which a call names its function: FNV-1a, 32 bit."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def parameters(function: Function) -> str:
    return ", ".join(f"{a.cpp} {a.name}" for a in function.args)


def slots(function: Function) -> list[Argument]:
    return [a for a in function.args[1:] if a.type not in _WITHOUT_SLOT]


def by_value(a: Argument) -> str:
    """Returns how the client's packer has an argument by value: number, real, address or descriptor."""
    if a.type in LT_OBJECTS or a.type in ("descriptor", "address"):
        return "descriptor" if a.type != "address" else a.type
    if a.type in NUMBERS or a.type in REALS:
        return "number" if a.type in NUMBERS else "real"
    raise ValueError(f"no way to marshal {a}")


def _by_value(a: Argument) -> str:
    """Returns the argument's template argument."""
    if (what := by_value(a)) == "descriptor":
        needed = LT_OBJECTS.get(a.type)
        return f"Needed<ops::ObjectKind::{needed}>" if needed else f"Object<ops::ObjectKind::{a.size}>"
    return {"number": f"Number<{NUMBERS.get(a.type)}>", "real": f"Real<{a.type}>", "address": "Address"}[what]


def _blas_pointer(a: Argument, _places: dict[str, int]) -> str:
    return f"Scalar<{SCALARS[a.type]}>" if a.direction == "in" else "Output"


def _lt_pointer(a: Argument, places: dict[str, int]) -> str:
    known = {"opaque": "ValueOrAddress", "algorithm": "Block<64>", "int": "Result<4>"}
    return known.get(a.type) or f"Results<{places['requested']}, 96>"


def _dnn_pointer(a: Argument, places: dict[str, int]) -> str:
    if a.type == "scalar":
        return "Value"
    if a.direction == "out":
        product = re.fullmatch(r"(\w+) \* (\d+)", a.size)
        return f"Results<{places[product[1]]}, {product[2]}>" if product else f"Result<{RESULTS[a.type]}>"
    called = re.match(r"(size_of|sum_of)\((\w+)", a.size)
    if called:
        return f"{'SizeOf' if called[1] == 'size_of' else 'SumOf'}<{places[called[2]]}>"
    return f"Array<{places[a.size]}>"


def _template_arguments(function: Function) -> str:
    pointers = {"cublasLt": _lt_pointer, "cublas": _blas_pointer, "cudnn": _dnn_pointer}
    pointer = next(found for prefix, found in pointers.items() if function.name.startswith(prefix))
    places = {one.name: at for at, one in enumerate(slots(function))}
    return ", ".join(
        _WITHOUT_SLOT.get(a.type) or (pointer(a, places) if a.direction else _by_value(a)) for a in function.args[1:]
    )


def changes(function: Function) -> str:
    """Returns the kind of object that the function sets, if any."""
    changed = function.policy == "Local"
    return f"ops::ObjectKind::{function.args[0].size}" if changed else "kNothing"


def table(name: str, functions: Iterable[Function]) -> list[str]:
    """Returns the table of the functions that a worker may call, by identifier."""
    by_id = sorted(functions, key=lambda f: identifier(f.name))
    if len({identifier(f.name) for f in by_id}) != len(by_id):
        raise ValueError(f"{name}: two functions have the same identifier: rename by hand")
    rows = [
        f'    {{0x{identifier(f.name):08x}, "{f.name}", {changes(f)}, signature<{_template_arguments(f)}>()}},'
        for f in by_id
    ]
    return [f"const CallFunction {name}[] = {{", *rows, "};", f"const uint32_t {name}Count = {len(by_id)};"]


def worker_source(header: str, *tables: list[str]) -> str:
    """Returns a worker's file of tables."""
    lines = [CODE, f'#include "{header}"', "", '#include "device/cuda/call/signature.h"', ""]
    lines += ["namespace jitc::cuda {", "", "// by identifier", *(line for one in tables for line in one)]
    return "\n".join([*lines, "", "}  // namespace jitc::cuda", ""])
