"""Turns the list of libraries that are not served into C++: their entries, and their names.

Called by ``jitc.interpose.generator``. Promise: each entry is an exported symbol that names its library and itself
once on standard error, and returns the library's own "not supported".
"""

from __future__ import annotations

from jitc.interpose.generator.wrappers_visitor import BANNER
from jitc.interpose.spec.unserved import STATIC_RUNTIMES, UNSERVED


def source() -> str:
    lines = [BANNER, '#include "api/common/guard.h"', "", "using namespace jitc::api;"]
    for number, one in enumerate(UNSERVED):
        lines += ["", f"// {one.title}: {one.library}"]
        lines += [
            f'JITC_EXPORT int32_t {name}() {{ return refuse_unserved(kUnserved[{number}], "{name}", {one.status}); }}'
            for name in one.entries
        ]
    lines += ["", "namespace jitc::api {", "const Unserved kUnserved[] = {"]
    lines += [f'    {{"{one.library}.so", "{one.title}", "{one.instead}"}},' for one in UNSERVED]
    lines += [
        "};",
        f"const unsigned kUnservedCount = {len(UNSERVED)};",
        "",
        "const StaticRuntime kStaticRuntimes[] = {",
    ]
    lines += [f'    {{"{one.part}", "{one.instead}"}},' for one in STATIC_RUNTIMES]
    lines += ["};", f"const unsigned kStaticRuntimeCount = {len(STATIC_RUNTIMES)};"]
    lines += ["", "}  // namespace jitc::api", ""]
    return "\n".join(lines)
