"""Turns the service's calls to a worker into C++: a struct for each message, its JSON, and the calls as an interface.

Called by ``jitc.interpose.generator``. Promise: a call that the .proto has and the executor does not, or the other way
round, does not compile; keys are the fields' names, as in ``proxy/worker/json_codec.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from jitc.v1 import control_pb2, worker_pb2

BANNER = (
    "// Generated from protos/jitc/v1/worker.proto and control.proto by `python -m jitc.interpose.generator`;\n"
    "// do not edit.\n"
)
#: Calls that the worker's process serves itself, or that have a document of their own.
OWN = {"Assign", "OpenSession", "CloseSession", "Ping", "Stats"}
METHODS = [one for one in worker_pb2.DESCRIPTOR.services_by_name["Worker"].methods if one.name not in OWN]
READ = [*(one.input_type for one in METHODS), worker_pb2.OpenSessionRequest.DESCRIPTOR]
WRITTEN = [*(one.output_type for one in METHODS), control_pb2.RaceReport.DESCRIPTOR]
#: Names that C++ has taken.
KEYWORDS = {"operator", "export"}

_SCALARS = {
    FieldDescriptor.TYPE_UINT64: "uint64_t",
    FieldDescriptor.TYPE_FIXED64: "uint64_t",
    FieldDescriptor.TYPE_UINT32: "uint32_t",
    FieldDescriptor.TYPE_SINT32: "int32_t",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_STRING: "std::string",
    FieldDescriptor.TYPE_BYTES: "Hash",  # all of them are; of none: empty
}


def header() -> str:
    """Returns the text of ``generated_messages.h``."""
    structs = "\n".join(_struct(one) for one in reachable([*READ, *WRITTEN]))
    calls = "".join(f"  virtual {_reply(one)} {_function(one)}(const {one.input_type.name}& request) = 0;\n"
                    for one in METHODS)  # fmt: skip
    reads = "".join(f"void fill(const Json& json, {one.name}& message);\n" for one in reachable(READ))
    writes = "".join(f"Json document(const {one.name}& message);\n" for one in reachable(WRITTEN))
    return _HEADER.format(banner=BANNER, structs=structs, calls=calls, reads=reads, writes=writes)


def source() -> str:
    """Returns the text of ``generated_messages.cpp``."""
    reads = "\n".join(_read(one) for one in reachable(READ))
    writes = "\n".join(_write(one) for one in reachable(WRITTEN))
    calls = "".join(_call(one) for one in METHODS)
    return _SOURCE.format(banner=BANNER, reads=reads, writes=writes, calls=calls)


def reachable(roots: Iterable[Any]) -> list[Any]:
    """Returns the roots and the messages in their fields, each once, after what it contains."""
    found: dict[str, Any] = {}

    def visit(message: Any) -> None:
        for field in message.fields:
            if field.message_type:
                visit(field.message_type)
        found.setdefault(message.name, message)

    for one in roots:
        visit(one)
    return list(found.values())


def _struct(message: Any) -> str:
    fields = "".join(f"  {_type(field)} {_name(field.name)}{{}};\n" for field in message.fields)
    return f"struct {message.name} {{\n{fields}}};\n" if fields else f"struct {message.name} {{}};\n"


def _type(field: Any) -> str:
    if field.type == FieldDescriptor.TYPE_BYTES and "hash" not in field.name:
        raise ValueError(f"{field.full_name}: bytes that are no hash have no form in a worker's documents")
    one = field.message_type.name if field.message_type else _SCALARS[field.type]
    if field.is_repeated:
        return f"std::vector<{one}>"
    return f"std::optional<{one}>" if field.message_type else one


def _name(name: str) -> str:
    return f"{name}_" if name in KEYWORDS else name


def _read(message: Any) -> str:
    lines = "".join(f'  read(json, "{field.name}", message.{_name(field.name)});\n' for field in message.fields)
    return f"void fill(const Json& json, {message.name}& message) {{\n{lines}}}\n"


def _write(message: Any) -> str:
    if not message.fields:
        return f"Json document(const {message.name}&) {{ return Json::object(); }}\n"
    lines = "".join(f'  write(json, "{field.name}", message.{_name(field.name)});\n' for field in message.fields)
    return (
        f"Json document(const {message.name}& message) {{\n  Json json = Json::object();\n{lines}  return json;\n}}\n"
    )


def _function(method: Any) -> str:
    return _name(re.sub(r"(?<!^)(?=[A-Z])", "_", method.name).lower())


def _reply(method: Any) -> str:
    return "void" if method.output_type.name == "Empty" else str(method.output_type.name)


def _call(method: Any) -> str:
    lines = "\n    ".join(_answer(method))
    return f'  if (method == "{method.name}") {{\n    {lines}\n  }}\n'


def _answer(method: Any) -> Iterator[str]:
    call = f"commands.{_function(method)}(parsed<{method.input_type.name}>(json))"
    if _reply(method) == "void":
        yield f"{call};"
        yield "return Json::object();"
    else:
        yield f"return document({call});"


_HEADER = """\
{banner}#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace jitc::messages {{
using Json = nlohmann::json;

{structs}
/// The service's calls about a session.
class Commands {{
 public:
  virtual ~Commands() = default;
{calls}}};

/// Makes the call of that name with a request's document, and returns the reply's. Throws Error: there is none of that
/// name, or a member of the document has a wrong type.
Json call(Commands& commands, std::string_view method, const Json& json);

/// Fills a message. A member that the document does not have stays as it is.
{reads}

template <class Message>
Message parsed(const Json& json) {{
  Message message;
  fill(json, message);
  return message;
}}

{writes}
}}  // namespace jitc::messages
"""

_SOURCE = """\
{banner}#include "generated_messages.h"

#include "message_fields.h"

namespace jitc::messages {{

{reads}
{writes}
Json call(Commands& commands, std::string_view method, const Json& json) {{
{calls}  throw Error("unknown command \\"" + std::string(method) + "\\"");
}}

}}  // namespace jitc::messages
"""
