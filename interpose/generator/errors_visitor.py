"""Turns CUDA's error codes into C++ constants, under CUDA's own names.

Called by ``jitc.interpose.generator``. Promise: API layer, executor and devices name the same number the same way.
"""

from __future__ import annotations

from jitc.interpose.spec.device.errors import ERRORS

_BANNER = "Generated from interpose/spec/device/errors.py by `python -m jitc.interpose.generator`; do not edit."


def header() -> str:
    """Returns the text of ``protos/include/jitc/generated_errors.h``."""
    constants = "".join(
        f"inline constexpr int32_t {_constant(name)} = {code};\n" for code, name, _, _ in sorted(ERRORS)
    )
    return _HEADER.format(banner=_BANNER, constants=constants)


def check() -> str:
    """Returns static assertions on NVIDIA's headers: the number of each name, in both APIs."""
    lines = ["// " + _BANNER, "#include <cuda.h>", "#include <cuda_runtime_api.h>", ""]
    for code, runtime, driver, _ in sorted(ERRORS):
        lines += [f"static_assert({name} == {code});" for name in (runtime, driver) if name]
    return "\n".join([*lines, ""])


def _constant(name: str) -> str:
    return "k" + name.removeprefix("cudaError").removeprefix("cuda")


_HEADER = """\
// {banner}
#pragma once
#include <cstdint>

/// cudaError_t by CUDA's names; an error that the driver's API also has, has the same number there.
namespace jitc::errors {{

{constants}
}}  // namespace jitc::errors
"""
