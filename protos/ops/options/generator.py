"""Turns ``table.py`` into the fields of the configuration, workers' options, and the table in ``docs/cli.md``.

Called by ``jitc.interpose.generator``. Promise: output depends only on the table; only the part of the document between
the two marks changes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from jitc.ops.options.table import OPTIONS, Option
from jitc.ops.options.values import Choice, File, Flag, Folder, Number, Percent, Seconds, Size, Values

BEGIN, END = "<!-- generated: options -->\n", "<!-- end of options -->\n"

# -- the configuration ----------------------------------------------------------------------------------------


def module() -> str:
    """Returns the text of ``protos/ops/options/generated_fields.py``."""
    fields = "".join(_field(one) for one in _fields())
    binding = "".join(f'    "{one.field}": "{_words(one)}",\n' for one in _fields() if one.binding)
    worker = "".join(f'    "{one.field}",\n' for one in OPTIONS if one.worker)
    return _MODULE.format(fields=fields, binding=binding, worker=worker)


def _fields() -> Iterator[Option]:
    """Returns one option for each field of the configuration, in their order."""
    seen = {""}
    for one in OPTIONS:
        if one.field not in seen:
            seen.add(one.field)
            yield one


def _words(option: Option) -> str:
    return option.field if isinstance(option.values, File) else f"--{option.name}"


def _field(option: Option) -> str:
    values = option.values
    if isinstance(values, File):
        text = "paths of NVIDIA's libraries that were named, by their options' names; the others are looked for"
        return _commented(text, f"{option.field}: Mapping[str, str] = field(default_factory=dict)")
    text = option.help + (f" (0: {option.otherwise})" if option.default == 0 and option.otherwise else "")
    if isinstance(values, Percent):
        share = float(option.default or 0) / 100
        return _commented(text.replace("percent of", "share of"), f"{option.field}: float = {share:g}")
    kind = {Number: "int", Size: "int", Seconds: "float", Choice: "str", Flag: "bool", Folder: "str"}[type(values)]
    default = f'"{option.default}"' if kind == "str" else repr(option.default)
    return _commented(text, f"{option.field}: {kind} = {default}")


def _commented(text: str, line: str) -> str:
    comment = textwrap.fill(
        text[0].upper() + text[1:] + ".", 120, initial_indent="    #: ", subsequent_indent="    #: "
    )
    return f"{comment}\n    {line}\n"


# -- workers ----------------------------------------------------------------------------------------------------


def header() -> str:
    """Returns the text of ``protos/include/jitc/generated_options.h``."""
    given = [one for one in OPTIONS if one.worker]
    fields = "".join(f"  {_cpp_type(one.values)} {one.field}{{}};  // --{one.name}\n" for one in given)
    reads = "".join(f'    if (name == "{one.field}") return read_option(text, &{one.field});\n' for one in given)
    return _HEADER.format(fields=fields, reads=reads)


def _cpp_type(values: Values) -> str:
    return {Number: "uint64_t", Size: "uint64_t", Seconds: "double", Flag: "bool"}[type(values)]


# -- the document -------------------------------------------------------------------------------------------------


def document(text: str) -> str:
    """Returns the document with the current table. Raises ValueError if it does not have the two marks."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"docs/cli.md needs one {BEGIN.strip()} and one {END.strip()}")
    rows = "".join(_row(one) for one in OPTIONS)
    table = "| option | default | allowed | for |\n|---|---|---|---|\n" + rows
    before, rest = text.split(BEGIN)
    return before + BEGIN + table + END + rest.split(END)[1]


def _row(option: Option) -> str:
    usage = f"--{option.name} {option.values.metavar}".rstrip()
    only = f"{option.devices[0]} only" if option.devices else ""
    allowed = ", ".join(one for one in (option.values.allowed, only) if one)
    return f"| `{usage}` | {option.without_it} | {allowed} | {_marked(option.help)} |\n"


def _marked(text: str) -> str:
    """Formats names of options as code."""
    return " ".join(f"`{word}`" if word.startswith("--") else word for word in text.split(" "))


_MODULE = '''\
"""The part of a node service's configuration that its options say.

Generated from protos/ops/options/table.py by `python -m jitc.interpose.generator`; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class ServiceOptions:
    """One field for each option; each has the option's default."""

{fields}

#: Fields that sessions, their memory and their workers depend on, and how their options are called.
BINDING = {{
{binding}}}
#: Fields that workers are given.
OF_WORKERS = (
{worker})
'''

_HEADER = """\
// Generated from protos/ops/options/table.py by `python -m jitc.interpose.generator`; do not edit.
#pragma once
#include <cstdint>
#include <string_view>

#include "jitc/option_text.h"

namespace jitc {{

/// What the service's options say to its workers (worker.proto, AssignRequest.options).
struct WorkerOptions {{
{fields}
  /// Takes the text of one. False: there is none of that name, or it is no value for it.
  bool set(std::string_view name, std::string_view text) {{
{reads}    return false;
  }}
}};

}}  // namespace jitc
"""
