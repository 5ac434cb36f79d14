"""Turns ``spec/device/`` into the C++ tables behind the device and error queries.

Called by ``jitc.interpose.generator``. Promise: sorted by number; the layout check compiles only when
the offsets are those of the real header.
"""

from __future__ import annotations

from jitc.interpose.spec.device import attributes, errors, properties

_BANNER = "// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit."
_SOURCES = ("multiprocessors", "pci_bus", "capability_major", "capability_minor")


def tables() -> str:
    """Returns ``generated_device.h``: attributes, fields of cudaDeviceProp, error names."""
    lines = [_BANNER, "#pragma once", "#include <cstddef>", "#include <cstdint>", "", "namespace jitc::api {", ""]
    names = ", ".join(f"k_{name}" for name in _SOURCES)
    lines += ["/// Where an attribute's value comes from.", f"enum class Source : uint8_t {{ fixed, {names} }};", ""]
    lines += [
        "struct Attribute { int32_t number; Source source; int32_t value; };",
        "inline constexpr Attribute kAttributes[] = {",
    ]
    for number, (note, value) in sorted(attributes.ATTRIBUTES.items()):
        source, fixed = ("fixed", value) if isinstance(value, int) else (f"k_{value}", 0)
        lines.append(f"    {{{number}, Source::{source}, {fixed}}},  // {note}")
    withheld = ", ".join(map(str, sorted(attributes.WITHHELD)))
    lines += [
        "};",
        "/// What a real GPU has and the proxy does not serve.",
        f"inline constexpr int32_t kWithheld[] = {{{withheld}}};",
        "",
        "struct PropField { uint16_t offset; uint8_t bytes; int32_t attribute; };",
    ]
    lines += _prop_table("kDeviceProp", properties.layout(13)) + _prop_table("kDeviceProp12", properties.layout(12))
    for name in properties.BY_HAND:
        offset = properties.layout(13).offset(name)
        if offset != properties.layout(12).offset(name):
            raise ValueError(f"{name} is written by hand in both layouts")
        lines.append(f"inline constexpr size_t kDeviceProp_{name} = {offset};")
    lines += [
        "",
        "struct ErrorText { int32_t code; const char *runtime, *driver, *text; };",
        "inline constexpr ErrorText kErrors[] = {",
    ]
    lines += [
        f'    {{{code}, "{runtime}", "{name}", "{text}"}},' for code, runtime, name, text in sorted(errors.ERRORS)
    ]
    return "\n".join([*lines, "};", "", "}  // namespace jitc::api", ""])


def _prop_table(name: str, layout: properties.Layout) -> list[str]:
    rows = [
        f"    {{{member.offset + at * member.bytes}, {member.bytes}, {attribute}}},  // {member.name}"
        for member in layout.members
        for at, attribute in enumerate(member.attributes)
    ]
    return [
        f"inline constexpr size_t {name}Bytes = {layout.bytes};",
        f"inline constexpr PropField {name}[] = {{",
        *rows,
        "};",
    ]


def layout_check(version: int) -> str:
    """Returns static assertions on the real ``cudaDeviceProp`` of a CUDA version."""
    layout = properties.layout(version)
    lines = [_BANNER, "#include <cstddef>", "#include <cuda_runtime_api.h>", ""]
    lines.append(f"static_assert(CUDART_VERSION / 1000 == {version});")
    lines.append(f"static_assert(sizeof(cudaDeviceProp) == {layout.bytes});")
    for member in layout.members:
        if member.name == "reserved":
            continue  # shrinks as members are added behind the others
        end = member.offset + member.bytes * max(1, len(member.attributes))
        size = (
            ""
            if not member.attributes
            else (f" && sizeof(static_cast<cudaDeviceProp*>(nullptr)->{member.name}) == {end - member.offset}")
        )
        lines.append(f"static_assert(offsetof(cudaDeviceProp, {member.name}) == {member.offset}{size});")
    return "\n".join([*lines, ""])
