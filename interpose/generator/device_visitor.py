"""Turns ``spec/device.py`` and ``spec/errors.py`` into the C++ tables behind the device and error queries.

Called by ``jitc.interpose.generator``. Promise: sorted by number; the layout check compiles only when
the offsets are those of the real header.
"""

from __future__ import annotations

from jitc.interpose.spec import device, errors

_BANNER = "// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit."
_SOURCES = ("multiprocessors", "pci_bus", "capability_major", "capability_minor")


def tables() -> str:
    """``generated_device.h``: attributes, fields of cudaDeviceProp, error names."""
    lines = [_BANNER, "#pragma once", "#include <cstddef>", "#include <cstdint>", "", "namespace jitc::front {", ""]
    names = ", ".join(f"k_{name}" for name in _SOURCES)
    lines += ["/// Where an attribute's value comes from.", f"enum class Source : uint8_t {{ fixed, {names} }};", ""]
    lines += [
        "struct Attribute { int32_t number; Source source; int32_t value; };",
        "inline constexpr Attribute kAttributes[] = {",
    ]
    for number, (note, value) in sorted(device.ATTRIBUTES.items()):
        source, fixed = ("fixed", value) if isinstance(value, int) else (f"k_{value}", 0)
        lines.append(f"    {{{number}, Source::{source}, {fixed}}},  // {note}")
    lines += [
        "};",
        "",
        "struct PropField { uint16_t offset; uint8_t bytes; int32_t attribute; };",
        f"inline constexpr size_t kDevicePropBytes = {device.DEVICE_PROP_BYTES};",
        "inline constexpr PropField kDeviceProp[] = {",
    ]
    lines += [
        f"    {{{offset}, {size}, {attribute}}},  // {name}" for name, offset, size, attribute in device.DEVICE_PROP
    ]
    lines += ["};"]
    lines += [f"inline constexpr size_t kDeviceProp_{name} = {offset};" for name, offset in device.DEVICE_PROP_BY_HAND]
    lines += [
        "",
        "struct ErrorText { int32_t code; const char *runtime, *driver, *text; };",
        "inline constexpr ErrorText kErrors[] = {",
    ]
    lines += [
        f'    {{{code}, "{runtime}", "{name}", "{text}"}},' for code, runtime, name, text in sorted(errors.ERRORS)
    ]
    return "\n".join([*lines, "};", "", "}  // namespace jitc::front", ""])


def layout_check() -> str:
    """Static assertions on the real ``cudaDeviceProp``."""
    lines = [_BANNER, "#include <cstddef>", "#include <cuda_runtime_api.h>", ""]
    lines.append(f"static_assert(sizeof(cudaDeviceProp) == {device.DEVICE_PROP_BYTES});")
    for name, offset in device.DEVICE_PROP_BY_HAND:
        lines.append(f"static_assert(offsetof(cudaDeviceProp, {name}) == {offset});")
    for name, offset, size, _ in device.DEVICE_PROP:
        lines.append(
            f"static_assert(offsetof(cudaDeviceProp, {name}) == {offset} && "
            f"sizeof(static_cast<cudaDeviceProp*>(nullptr)->{name}) == {size});"
        )
    return "\n".join([*lines, ""])
