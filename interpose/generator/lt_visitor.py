"""Turns the attributes of cuBLASLt's objects into the tables by which both sides make and check them.

Called by ``jitc.interpose.generator``. Promise: sorted by number; the check compiles only when numbers are those of the
real header.
"""

from __future__ import annotations

from jitc.interpose.generator.call_visitor import identifier
from jitc.interpose.spec.cublas.lt import ATTRIBUTES

_BANNER = "// Generated from interpose/spec/cublas/lt.py by `python -m jitc.interpose.generator`; do not edit."
#: ObjectKind -> prefix of the header's enumerators, and of its functions' names
_KINDS = {
    "lt_descriptor": ("MATMUL_DESC", "MatmulDesc"),
    "lt_layout": ("MATRIX_LAYOUT", "MatrixLayout"),
    "lt_preference": ("MATMUL_PREF", "MatmulPreference"),
}
_BY_HAND = ("MatmulAlgoGetHeuristic", "Matmul")


def header() -> str:
    """Returns ``jitc/generated_lt.h``."""
    lines = [_BANNER, "#pragma once", '#include "generated_ops.h"', "", "namespace jitc::ops {", ""]
    lines += ["/// Functions that are called by hand-written code."]
    lines += [f"inline constexpr uint32_t kLt{name} = 0x{identifier(f'cublasLt{name}'):08x};" for name in _BY_HAND]
    lines += ["", "/// The functions that make an object, and set its attributes.", "struct LtMaker {"]
    lines += ["  uint32_t create, set;", "};", "constexpr LtMaker lt_maker(ObjectKind kind) {", "  switch (kind) {"]
    for kind, (_, prefix) in _KINDS.items():
        made, set_ = (identifier(f"cublasLt{prefix}{what}") for what in ("Create", "SetAttribute"))
        lines += [f"    case ObjectKind::{kind}:", f"      return {{0x{made:08x}, 0x{set_:08x}}};"]
    lines += ["    default:", "      return {};", "  }", "}", ""]
    widest = max(size for attributes in ATTRIBUTES.values() for _, size in attributes.values())
    lines += [f"inline constexpr uint32_t kLtWidestAttribute = {widest};"]
    lines += ["/// Bytes of an attribute of a cuBLASLt object; 0: it does not travel."]
    lines += ["constexpr uint32_t lt_attribute_bytes(ObjectKind kind, uint32_t attribute) {", "  switch (kind) {"]
    for kind, (prefix, _) in _KINDS.items():
        lines += [f"    case ObjectKind::{kind}:", "      switch (attribute) {"]
        for bytes_ in (1, 4, 8):
            found = [(at, name) for at, (name, size) in sorted(ATTRIBUTES[prefix].items()) if size == bytes_]
            lines += [f"        case {at}:  // {name}" for at, name in found]
            lines += [f"          return {bytes_};"] if found else []
        lines += ["        default:", "          return 0;", "      }"]
    return "\n".join([*lines, "    default:", "      return 0;", "  }", "}", "", "}  // namespace jitc::ops", ""])


def check() -> str:
    """Returns static assertions on the real enumerations."""
    lines = [_BANNER, "#include <cublasLt.h>", ""]
    for prefix, attributes in ATTRIBUTES.items():
        lines += [f"static_assert(CUBLASLT_{prefix}_{name} == {at});" for at, (name, _) in sorted(attributes.items())]
    return "\n".join([*lines, ""])
