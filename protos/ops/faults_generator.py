"""Turns ``faults.py`` into ``generated_faults.h`` and the table of faults in ``docs/cli.md``.

Called by ``jitc.interpose.generator``. Promise: output depends only on the table; only the part of the document between
the two marks changes.
"""

from __future__ import annotations

from jitc.ops import table
from jitc.ops.faults import CARRIERS, FAULTS, OP_PHASES, POINTS
from jitc.ops.generator import flag

BEGIN, END = "<!-- generated: faults -->\n", "<!-- end of faults -->\n"


def header() -> str:
    """Returns the text of ``protos/include/jitc/generated_faults.h``."""
    rows = "".join(
        f'    {{"{one.name}", FaultCarrier::{one.carrier}, {one.signal or 0}, {flag(one.collective)}}},\n'
        for one in FAULTS
    )
    return _HEADER.format(
        carriers=", ".join(CARRIERS), count=len(FAULTS), rows=rows,
        phases=_names("kPhases", OP_PHASES), points=_names("kPoints", POINTS),
        collectives=_names("kCollectiveNames", table.ENUMS["CollectiveKind"]),
    )  # fmt: skip


def _names(name: str, values: tuple[str, ...]) -> str:
    listed = ", ".join(f'"{value}"' for value in values)
    return f"inline constexpr std::array<std::string_view, {len(values)}> {name}{{{listed}}};\n"


def document(text: str) -> str:
    """Returns the document with the current table. Raises ValueError if it does not have the two marks."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"docs/cli.md needs one {BEGIN.strip()} and one {END.strip()}")
    rows = "".join(f"| `{one.name}` | {one.what} | {one.software} | {one.cuda} |\n" for one in FAULTS)
    table = "| fault | what happens | software | cuda |\n|---|---|---|---|\n" + rows
    before, rest = text.split(BEGIN)
    return before + BEGIN + table + END + rest.split(END)[1]


_HEADER = """\
// Generated from protos/ops/faults.py by `python -m jitc.interpose.generator`; do not edit.
#pragma once
#include <array>
#include <csignal>
#include <string_view>

namespace jitc::ops {{

/// Who makes a fault happen; what each means: protos/ops/faults.py.
enum class FaultCarrier {{ {carriers} }};

struct FaultKind {{
  std::string_view name;
  FaultCarrier carrier;
  int signal;       // of the carrier of that name
  bool collective;  // it waits for an op that is a collective
}};
inline constexpr std::array<FaultKind, {count}> kFaults{{{{
{rows}}}}};
/// Where in a minibatch: the phase that an op is in, the point that it passes.
{phases}{points}/// Of the values of CollectiveKind, for texts.
{collectives}
/// nullptr: there is none of that name.
constexpr const FaultKind* find_fault(std::string_view name) {{
  for (const FaultKind& one : kFaults)
    if (one.name == name) return &one;
  return nullptr;
}}

}}  // namespace jitc::ops
"""
