"""Turns the API tables into C++: wrappers, declarations of what is hand-written, symbol tables.

Called by ``jitc.interpose.generator``. Promise: every function of the spec becomes one exported
symbol; a served one calls ``jitc::front::<name>`` behind a guard (no exception leaves, last error kept,
no call that needs the service in a forked child), a refused one says so once.
"""

from __future__ import annotations

from jitc.interpose.spec import cublas, cublaslt, cudart, driver, nccl
from jitc.interpose.spec.api import RETURNS, Api, Function

APIS: tuple[Api, ...] = (cudart.API, driver.API, nccl.API, cublas.API, cublaslt.API)
_BANNER = "// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit."
_PLAIN = {"none", "text", "size", "fatbin", "uint", "error"}  # results that are no status: no guard


def served(api: Api) -> list[Function]:
    return sorted((f for f in api.functions if f.policy != "Unsupported"), key=lambda f: f.name)


def refused(api: Api) -> list[Function]:
    return sorted((f for f in api.functions if f.policy == "Unsupported"), key=lambda f: f.name)


def _parameters(function: Function) -> str:
    return ", ".join(f"{a.cpp} {a.name}" for a in function.args)


def front_header() -> str:
    """Declarations of the hand-written functions, so that a missing one is a link error."""
    lines = [_BANNER, "#pragma once", '#include "abi_types.h"', "", "namespace jitc::front {", ""]
    for api in APIS:
        lines.append(f"// {api.title}")
        lines += [f"{RETURNS[f.returns]} {f.name}({_parameters(f)});" for f in served(api) if not f.like]
        lines.append("")
    return "\n".join([*lines, "}  // namespace jitc::front", ""])


def wrappers(api: Api) -> str:
    """The exported functions of one API."""
    lines = [_BANNER, '#include "generated_front.h"', '#include "guard.h"', "", "using namespace jitc::front;", ""]
    lines.append(f"// {api.title}: {api.library}")
    lines += [_served_wrapper(api, f) for f in served(api)]
    advice = sorted({f.note for f in refused(api)})
    lines += ["", "namespace {"]
    lines += [f'constexpr const char* kAdvice{i} = "{text}";' for i, text in enumerate(advice)]
    lines += ["}  // namespace", ""]
    for f in refused(api):
        body = f'return refuse_{api.key}("{f.name}", kAdvice{advice.index(f.note)});'
        lines.append(f"JITC_EXPORT int32_t {f.name}() {{ {body} }}")
    return "\n".join([*lines, ""])


def _served_wrapper(api: Api, f: Function) -> str:
    call = f"::jitc::front::{f.served_by}({', '.join(a.name for a in f.args)})"
    head = f"JITC_EXPORT {RETURNS[f.returns]} {f.name}({_parameters(f)})"
    if f.returns in _PLAIN:
        return f"{head} {{ return {call}; }}"
    needs = "false" if f.policy == "Local" else "true"
    return f"{head} {{ return guard_{api.key}<{needs}>([&] {{ return {call}; }}); }}"


def exports() -> str:
    """The linker's version script: the spec and jitc_*, nothing else."""
    names = sorted({f.name for api in APIS for f in api.functions})
    body = "".join(f"    {name};\n" for name in names)
    return f"/* {_BANNER[3:]} */\n{{\n  global:\n    jitc_*;\n{body}  local:\n    *;\n}};\n"


def symbols() -> str:
    """The driver's symbols by name, for cuGetProcAddress and cudaGetDriverEntryPoint."""
    names = sorted(f.name for f in driver.API.functions)
    lines = [_BANNER, '#include "symbols.h"', "", "#include <cstdint>", "", 'extern "C" {']
    lines += [f'extern int32_t jitc_symbol_{n}() __asm__("{n}");' for n in names]
    lines += ["}", "", "namespace jitc::front {", "// sorted by name", "const Symbol kDriverSymbols[] = {"]
    lines += [f'    {{"{n}", reinterpret_cast<void*>(&jitc_symbol_{n})}},' for n in names]
    lines += ["};", f"const unsigned kDriverSymbolCount = {len(names)};", "", "}  // namespace jitc::front", ""]
    return "\n".join(lines)


def header_check() -> str:
    """A translation unit that compiles only when the spec agrees with the real headers.

    Only functions that the headers declare are compared; what they leave out is listed in the test.
    """
    lines = [_BANNER]
    lines += [f"#include <{api.header}>" for api in APIS]
    lines += ['#include "abi_check.h"', "", "namespace jitc::front {", ""]
    for api in APIS:
        lines.append(f"// {api.title}")
        for f in served(api):
            if f.name.startswith("__") or f.name in _NOT_IN_HEADERS:
                continue
            types = ", ".join(a.cpp for a in f.args)
            lines.append(f"JITC_CHECK({f.name}, {RETURNS[f.returns]}({types}));")
        lines.append("")
    return "\n".join([*lines, "}  // namespace jitc::front", ""])


#: Declared elsewhere, only in older headers, or overloaded in C++ (the last two).
_NOT_IN_HEADERS = {
    "cudaProfilerStart",
    "cudaProfilerStop",
    "cuProfilerStart",
    "cuProfilerStop",
    "cuDeviceGetUuid",
    "cuGetProcAddress",
    "cublasGemmEx",
    "cublasGemmStridedBatchedEx",
}
