"""Turns ``table.py`` and ``traits.py`` into ``generated_ops.h``, ``generated_op_traits.h`` and ``generated_names.py``.

Called by ``jitc.interpose.generator``. Promises: output depends only on the tables and is sorted as they are, so that
CI can regenerate and compare; an op without traits, or with wrong ones, is an error.
"""

from __future__ import annotations

from jitc.ops import table
from jitc.ops.traits import ENUMS, MEMBERS, TRAITS, Traits, complaints

_BANNER = "Generated from protos/ops/table.py by `python -m jitc.interpose.generator`; do not edit."


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _padded(fields: tuple[tuple[str, str, str], ...]) -> tuple[list[tuple[str, str, str]], int]:
    """Returns fields plus trailing padding up to 8 bytes; every field must be naturally aligned."""
    out, offset = list(fields), 0
    for name, kind, _ in fields:
        size = table.TYPES[kind][2]
        if offset % min(size, 8):
            raise ValueError(f"field {name} is not aligned at {offset}")
        offset += size
    if offset % 8:
        out.append(("reserved", "u32", "padding, zero"))
        offset += 4
    return out, offset


def _struct(name: str, fields: tuple[tuple[str, str, str], ...], doc: str, extra: str = "") -> str:
    padded, size = _padded(fields)
    lines = [f"/// {doc}" if doc else "", f"struct {name} {{"]
    lines += [extra] if extra else []
    for field, kind, note in padded:
        lines.append(f"  {table.TYPES[kind][0]} {field}{{}};{'  // ' + note if note else ''}")
    lines.append("};")
    header = 24 if extra else 0
    lines.append(f"static_assert(sizeof({name}) == {header + size} && std::is_trivially_copyable_v<{name}>);")
    return "\n".join(line for line in lines if line)


def cpp_header() -> str:
    """Returns the text of ``protos/include/jitc/generated_ops.h``."""
    parts = [
        f"// {_BANNER}",
        "#pragma once\n#include <array>\n#include <cstdint>\n#include <string_view>\n#include <type_traits>\n",
        "namespace jitc::ops {\n",
        f"inline constexpr uint32_t kFormatVersion = {table.FORMAT_VERSION};\n",
        _HEADER_STRUCT,
        "enum class OpId : uint16_t {\n" + "".join(f"  {op.name} = 0x{op.id:04x},\n" for op in table.OPS) + "};\n",
    ]
    for name, values in table.ENUMS.items():
        body = ", ".join(f"{value} = {i}" for i, value in enumerate(values))
        parts.append(f"enum class {name} : uint32_t {{ {body} }};\n")
    parts += [_struct(name, fields, "") + "\n" for name, fields in table.RECORDS.items()]
    for op in table.OPS:
        payload = f" Payload: {op.payload}." if op.payload else ""
        result = f" Result: {op.result}." if op.result else ""
        extra = f"  static constexpr OpId kId = OpId::{op.name};\n  OpHeader header{{}};"
        parts.append(_struct(_camel(op.name), op.fields, op.doc + payload + result, extra) + "\n")
    rows = "".join(
        f'    {{OpId::{op.name}, "{op.name}", sizeof({_camel(op.name)}), {flag(bool(op.payload))}, {flag(op.waits)},'
        f" {flag(op.compared)}, {flag(op.resource)}}},\n"
        for op in table.OPS
    )
    parts.append(_INFO_STRUCT.format(count=len(table.OPS), rows=rows, ids=max(op.id for op in table.OPS) + 1))
    parts.append("}  // namespace jitc::ops\n")
    return "\n".join(parts)


def flag(value: bool) -> str:
    return "true" if value else "false"


_HEADER_STRUCT = """\
/// Every op starts with this; records are little-endian and 8-byte aligned.
struct OpHeader {
  uint32_t size{};      // whole record in bytes, header and padding included, a multiple of 8
  uint16_t op{};        // OpId
  uint16_t flags{};     // kFlagWait, kPhaseMask
  uint64_t stream{};    // virtual stream; 0 is the legacy default stream
  uint64_t sequence{};  // per session, from 1, without gaps
};
static_assert(sizeof(OpHeader) == 24);
inline constexpr uint16_t kFlagWait = 1;         // the client waits for a RESULT
inline constexpr uint16_t kPhaseShift = 1;       // two bits: Phase
inline constexpr uint16_t kPhaseMask = 3 << kPhaseShift;
inline constexpr uint32_t kMaximumRecord = 4u << 20;
"""

_INFO_STRUCT = """\
/// What a decoder must know of an op before it looks inside.
struct OpInfo {{
  OpId id;
  std::string_view name;
  uint32_t fixed_size;  // header and operands
  bool has_payload, waits, compared, resource;
}};
inline constexpr std::array<OpInfo, {count}> kOps{{{{
{rows}}}}};
/// Index into kOps by id, plus 1; 0: no such op. Ids are family << 8 | number, both small, so that a look-up needs no
/// search.
inline constexpr auto kIndices = [] {{
  std::array<uint8_t, {ids}> indices{{}};
  for (size_t at = 0; at < kOps.size(); ++at) indices[static_cast<size_t>(kOps[at].id)] = static_cast<uint8_t>(at + 1);
  return indices;
}}();
constexpr const OpInfo* find(uint16_t id) {{
  const uint8_t index = id < kIndices.size() ? kIndices[id] : 0;
  return index ? &kOps[index - 1] : nullptr;
}}
/// Into kOps, of an op that find() knows.
constexpr size_t index_of(OpId id) {{ return kIndices[static_cast<size_t>(id)] - size_t{{1}}; }}
"""


def traits_header() -> str:
    """Returns the text of ``protos/include/jitc/generated_op_traits.h``; raises ValueError if the table is not
    valid."""
    if wrong := complaints(table.OPS, TRAITS):
        raise ValueError("protos/ops/traits.py: " + "; ".join(wrong))
    enums = "".join(f"enum class {name} : uint8_t {{ {', '.join(values)} }};\n" for name, values in ENUMS.items())
    rows = "".join(f"    {_traits_row(TRAITS[op.name])},  // {op.name}\n" for op in table.OPS)
    cases = "".join(
        f"    case OpId::{op.name}:\n      handler.template operator()<{_camel(op.name)}>();\n      return true;\n"
        for op in table.OPS
    )
    banner = _BANNER.replace("table.py", "traits.py")
    return f"// {banner}\n" + _TRAITS.format(enums=enums, count=len(table.OPS), rows=rows, cases=cases)


def _traits_row(one: Traits) -> str:
    values = [f"{enum}::{getattr(one, member)}" for enum, member in MEMBERS.items()]
    flags = [flag(one.capturable), flag(one.on_stream), flag(one.images), flag(one.result_is_state)]
    return "{" + ", ".join(values + flags) + "}"


_TRAITS = """\
#pragma once
#include "generated_ops.h"

namespace jitc::ops {{

{enums}
/// What executor and client must know of an op beside its layout; what each means: protos/ops/traits.py.
struct OpTraits {{
  Check check;
  Taker taker;
  Window window;
  Skipped skipped;
  Making making;
  Point point;
  Limit limit;
  Reads reads;
  ResultSize result_size;
  Shows shows;
  bool capturable, on_stream, images, result_is_state;
}};
/// In the order of kOps.
inline constexpr std::array<OpTraits, {count}> kOpTraits{{{{
{rows}}}}};

/// Of an op that find() in generated_ops.h knows.
constexpr const OpInfo& info(OpId id) {{ return kOps[index_of(id)]; }}
constexpr const OpTraits& traits(OpId id) {{ return kOpTraits[index_of(id)]; }}
constexpr const OpTraits& traits(const OpInfo& info) {{ return traits(info.id); }}

/// Calls handler.operator()<Op>() with the op's type; false: there is no such op.
template <class Handler>
bool with_type(OpId id, Handler&& handler) {{
  switch (id) {{
{cases}  }}
  return false;
}}

/// A handler made of several: each takes the ops of one type, and one with `const auto&` all others.
template <class... Handlers>
struct Overloaded : Handlers... {{
  using Handlers::operator()...;
}};

/// Returns the op as an op of that type; null if it is another one. The record must be whole.
template <class Op>
const Op* as_if(const OpHeader& op) {{
  return op.op == static_cast<uint16_t>(Op::kId) ? reinterpret_cast<const Op*>(&op) : nullptr;
}}

/// Calls handler(op) with the op as what it is. The record must be whole.
template <class Handler>
bool visit(const OpHeader& op, Handler&& handler) {{
  return with_type(static_cast<OpId>(op.op),
                   [&]<class Op>() {{ handler(reinterpret_cast<const Op&>(op)); }});
}}

}}  // namespace jitc::ops
"""


def python_module() -> str:
    """Returns the text of ``protos/ops/generated_names.py``: names, ids and struct formats."""
    lines = [
        f'"""{_BANNER}"""',
        "",
        "from __future__ import annotations",
        "",
        f"FORMAT_VERSION = {table.FORMAT_VERSION}",
        "",
    ]
    lines.append("#: op name -> id")
    lines.append("IDS: dict[str, int] = {")
    lines += [f'    "{op.name}": 0x{op.id:04X},' for op in table.OPS]
    lines += ["}", "", "#: op id -> name", "NAMES: dict[int, str] = {number: name for name, number in IDS.items()}", ""]
    lines += ["#: op name -> struct format of the operands after the header", "FORMATS: dict[str, str] = {"]
    for op in table.OPS:
        padded, _ = _padded(op.fields)
        lines.append(f'    "{op.name}": "<{"".join(table.TYPES[kind][1] for _, kind, _ in padded)}",')
    lines += ["}", ""]
    return "\n".join(lines)
