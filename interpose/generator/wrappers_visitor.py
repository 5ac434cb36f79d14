"""Turns the API tables into C++: wrappers, declarations of hand-written functions, symbol tables.

Called by ``jitc.interpose.generator``. Promise: every function of the spec becomes one exported symbol; a served one
calls ``jitc::api::<name>`` behind a guard (no exception leaves, last error kept, no call that needs the service in a
forked child), a refused one reports so once.
"""

from __future__ import annotations

from jitc.interpose.generator.blas_visitor import forwarded
from jitc.interpose.spec.api import RETURNS, Api, Function
from jitc.interpose.spec.cublas.functions import CUBLAS
from jitc.interpose.spec.cublas.lt import CUBLASLT
from jitc.interpose.spec.cudart.cuda12 import ADDED, CUDA12, PER_THREAD_SUFFIXES
from jitc.interpose.spec.cudart.functions import CUDART
from jitc.interpose.spec.cudnn.functions import CUDNN
from jitc.interpose.spec.driver.functions import DRIVER
from jitc.interpose.spec.loader import LOADER
from jitc.interpose.spec.nccl import NCCL
from jitc.interpose.spec.unserved import UNSERVED

APIS: tuple[Api, ...] = (CUDART, DRIVER, NCCL, CUBLAS, CUBLASLT, CUDNN)
BANNER = "// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit."
_FORWARDED = {f.name for f in forwarded()}
_PLAIN = {"none", "text", "size", "fatbin", "uint", "channel", "error"}  # results that are no status: no guard


def served(api: Api) -> list[Function]:
    return sorted((f for f in api.functions if f.policy != "Unsupported"), key=lambda f: f.name)


def refused(api: Api) -> list[Function]:
    return sorted((f for f in api.functions if f.policy == "Unsupported"), key=lambda f: f.name)


def _parameters(function: Function) -> str:
    return ", ".join(f"{a.cpp} {a.name}" for a in function.args)


def _is_forwarded(function: Function) -> bool:
    """Returns whether generated code sends the call unchanged to a device with kernels (``blas_visitor``)."""
    return function.name in _FORWARDED


def api_header() -> str:
    """Returns declarations of the hand-written functions, so that a missing one is a link error."""
    lines = [BANNER, "#pragma once", '#include "api/common/abi_types.h"', "", "namespace jitc::api {", ""]
    for api in APIS:
        lines.append(f"// {api.title}")
        by_hand = [f for f in served(api) if not f.like and not (f.kernels and _is_forwarded(f))]
        lines += [f"{RETURNS[f.returns]} {f.name}({_parameters(f)});" for f in by_hand]
        lines.append("")
    return "\n".join([*lines, "}  // namespace jitc::api", ""])


def wrappers(api: Api) -> str:
    """Returns the exported functions of one API."""
    lines = [
        BANNER,
        '#include "generated_api.h"',
        '#include "api/common/guard.h"',
        "",
        "using namespace jitc::api;",
        "",
    ]
    if any(map(_is_forwarded, api.functions)):
        lines.insert(1, '#include "generated_blas_client.h"')
    lines.append(f"// {api.title}: {api.library}")
    advice = sorted({f.note for f in refused(api)} | {f.kernels for f in served(api) if f.kernels})
    lines += ["namespace {"]
    lines += [f'constexpr const char* kAdvice{i} = "{text}";' for i, text in enumerate(advice)]
    lines += ["}  // namespace", ""]
    lines += [*(_served_wrapper(api, f, advice) for f in served(api)), ""]
    for f in refused(api):
        lines.append(f"JITC_EXPORT int32_t {f.name}() {{ return {_refusal(api, f, f.note, advice, _caller(api))}; }}")
    return "\n".join([*lines, ""])


def _refusal(api: Api, f: Function, text: str, advice: list[str], more: str = "") -> str:
    return f'refuse_{api.key}("{f.name}", kAdvice{advice.index(text)}{more})'


def _caller(api: Api) -> str:
    """Returns an argument for the driver's caller: libraries call the driver more often than programs do."""
    return ", __builtin_return_address(0)" if api is DRIVER else ""


def _served_wrapper(api: Api, f: Function, advice: list[str]) -> str:
    call = f"::jitc::api::{f.served_by}({', '.join(a.name for a in f.args)})"
    head = f"JITC_EXPORT {RETURNS[f.returns]} {f.name}({_parameters(f)})"
    if f.returns in _PLAIN:
        return f"{head} {{ return {call}; }}"
    if _is_forwarded(f):
        forward = call.replace("jitc::api::", "jitc::api::forward::")
        other = _refusal(api, f, f.kernels, advice) if f.kernels else call
        call = f"runs_kernels() ? {forward} : {other}"
    elif f.kernels:
        call = f"runs_kernels() ? {call} : {_refusal(api, f, f.kernels, advice)}"
    needs = "false" if f.policy == "Local" else "true"
    return f"{head} {{ return guard_{api.key}<{needs}>([&] {{ return {call}; }}); }}"


def exports() -> str:
    """Returns the linker's version script: the spec and jitc_*, nothing else."""
    served_names = {f.name for api in APIS for f in api.functions}
    names = sorted({*served_names, *(entry for one in UNSERVED for entry in one.entries), *LOADER})
    body = "".join(f"    {name};\n" for name in names)
    return f"/* {BANNER[3:]} */\n{{\n  global:\n    jitc_*;\n{body}  local:\n    *;\n}};\n"


def symbols() -> str:
    """Returns the driver's symbols by name, for cuGetProcAddress and cudaGetDriverEntryPoint, and replaced
    libraries."""
    libraries = sorted(api.library.partition(".")[0] for api in APIS)
    names = sorted(f.name for f in DRIVER.functions)
    lines = [BANNER, '#include "api/process/symbols.h"', "", "#include <cstdint>", "", 'extern "C" {']
    lines += [f'extern int32_t jitc_symbol_{n}() __asm__("{n}");' for n in names]
    lines += ["}", "", "namespace jitc::api {", "// sorted by name", "const Symbol kDriverSymbols[] = {"]
    lines += [f'    {{"{n}", reinterpret_cast<void*>(&jitc_symbol_{n})}},' for n in names]
    lines += ["};", f"const unsigned kDriverSymbolCount = {len(names)};", ""]
    lines += ["const char* const kServedLibraries[] = {", *(f'    "{one}",' for one in libraries), "};"]
    lines += [f"const unsigned kServedLibraryCount = {len(libraries)};", "", "}  // namespace jitc::api", ""]
    return "\n".join(lines)


def header_check() -> str:
    """Returns a translation unit that compiles only when the spec agrees with the real headers (CUDA 13).

    Only functions that the headers declare are compared; those that they leave out are listed below.
    """
    lines = [BANNER]
    lines += [f"#include <{api.header}>" for api in APIS]
    lines += ['#include "abi_check.h"', "", "namespace jitc::api {", ""]
    for api in APIS:
        lines.append(f"// {api.title}")
        lines += [_check(f) for f in served(api) if _declared(f) and f.name not in CUDA12]
        lines.append("")
    return "\n".join([*lines, "}  // namespace jitc::api", ""])


def header12_check() -> str:
    """Returns the same for the runtime API of CUDA 12, from 12.4 on, with what only its headers declare.

    cudaStreamGetCaptureInfo is a macro there, for a function under its own name.
    """
    checked = [f for f in served(CUDART) if _declared(f) and f.name != "cudaStreamGetCaptureInfo"]
    later = frozenset().union(*ADDED.values())
    lines = [BANNER, f"#include <{CUDART.header}>", '#include "abi_check_function.h"', ""]
    lines += ["namespace jitc::api {", ""]
    lines += [_check(f) for f in checked if f.name not in later]
    for version, names in sorted(ADDED.items()):
        lines += ["", f"#if CUDART_VERSION >= {version}", *(_check(f) for f in checked if f.name in names), "#endif"]
    return "\n".join([*lines, "", "}  // namespace jitc::api", ""])


def _check(f: Function) -> str:
    return f"JITC_CHECK({f.name}, {RETURNS[f.returns]}({', '.join(a.cpp for a in f.args)}));"


def _declared(f: Function) -> bool:
    return not f.name.startswith("__") and not f.name.endswith(PER_THREAD_SUFFIXES) and f.name not in _NOT_IN_HEADERS


#: Functions declared elsewhere, only in older headers, or overloaded in C++ (the last three).
_NOT_IN_HEADERS = {
    "cuEventElapsedTime",
    "cuStreamGetCaptureInfo_v2",
    "cudaProfilerStart",
    "cudaProfilerStop",
    "cuProfilerStart",
    "cuProfilerStop",
    "ncclResetDebugInit",
    "cuDeviceGetUuid",
    "cuGetProcAddress",
    "cublasGemmBatchedEx",
    "cublasGemmEx",
    "cublasGemmStridedBatchedEx",
}
