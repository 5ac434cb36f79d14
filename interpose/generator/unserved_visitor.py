"""Turns the list of libraries that are not served into C++: their entries, and their names.

Called by ``jitc.interpose.generator``. Promise: each entry is an exported symbol that names its library and itself
once on standard error, and returns the library's own "not supported".
"""

from __future__ import annotations

from jitc.interpose.generator.wrappers_visitor import BANNER
from jitc.interpose.spec.unserved import UNSERVED


def source() -> str:
    lines = [BANNER, '#include "api/common/guard.h"', "", "using namespace jitc::api;"]
    for one in UNSERVED:
        lines += ["", f"// {one.title}: {one.library}"]
        lines += [
            f'JITC_EXPORT int32_t {name}() {{ return refuse_unserved("{one.title}", "{name}", {one.status}); }}'
            for name in one.entries
        ]
    lines += ["", "namespace jitc::api {", "const Unserved kUnserved[] = {"]
    lines += [f'    {{"{one.library}.so", "{one.title}"}},' for one in UNSERVED]
    lines += ["};", f"const unsigned kUnservedCount = {len(UNSERVED)};", "", "}  // namespace jitc::api", ""]
    return "\n".join(lines)
