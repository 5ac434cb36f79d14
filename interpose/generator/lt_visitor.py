"""Turns the attributes of cuBLASLt's objects into the tables by which both sides check them.

Called by ``jitc.interpose.generator``. Promise: sorted by number; the check compiles only when numbers are those
of the real header.
"""

from __future__ import annotations

from jitc.interpose.spec.cublas.lt import ATTRIBUTES

_BANNER = "// Generated from interpose/spec/cublas/lt.py by `python -m jitc.interpose.generator`; do not edit."
#: LtKind -> prefix of the header's enumerators
_KINDS = {"descriptor": "MATMUL_DESC", "layout": "MATRIX_LAYOUT", "preference": "MATMUL_PREF"}


def header() -> str:
    """``jitc/generated_lt.h``."""
    lines = [_BANNER, "#pragma once", '#include "generated_ops.h"', "", "namespace jitc::ops {", ""]
    lines += ["/// Bytes of an attribute of a cuBLASLt object; 0: it does not travel."]
    lines += ["constexpr uint32_t lt_attribute_bytes(LtKind kind, uint32_t attribute) {"]
    lines += ["  switch (static_cast<uint32_t>(kind) << 16 | attribute) {"]
    for number, (kind, prefix) in enumerate(_KINDS.items()):
        for bytes_ in (1, 4, 8):
            found = [(at, name) for at, (name, size) in sorted(ATTRIBUTES[prefix].items()) if size == bytes_]
            lines += [f"    case {number << 16 | at:#x}:  // {kind}: {name}" for at, name in found]
            lines += [f"      return {bytes_};"] if found else []
    return "\n".join([*lines, "    default:", "      return 0;", "  }", "}", "", "}  // namespace jitc::ops", ""])


def check() -> str:
    """Static assertions on the real enumerations."""
    lines = [_BANNER, "#include <cublasLt.h>", ""]
    for prefix, attributes in ATTRIBUTES.items():
        lines += [f"static_assert(CUBLASLT_{prefix}_{name} == {at});" for at, (name, _) in sorted(attributes.items())]
    return "\n".join([*lines, ""])
