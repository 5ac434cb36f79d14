"""Where the foreign headers are that a native part includes: PyTorch's, and those of its CUDA.

Called by: compile.py. Promise: PyTorch as pip installs it is enough. The two headers of CUDA's compiler that the
runtime's headers include, and that no package of PyTorch brings, are written here.
"""

from __future__ import annotations

import os
from pathlib import Path

#: Headers of the C++ library that most files include (scripts/headers.cmake has the same).
COMMON = (
    "algorithm", "array", "atomic", "chrono", "cstdint", "cstring", "functional", "map", "memory", "mutex", "optional",
    "span", "string", "string_view", "thread", "unordered_map", "utility", "vector",
)  # fmt: skip
_RUNTIME = "cuda_runtime_api.h"
#: Where a toolkit usually lies.
TOOLKIT = "/usr/local/cuda"
#: What stands in for crt/host_defines.h: marks of functions and types, which a C++ compiler has to ignore or spell so.
#: crt/host_config.h knows which compilers CUDA's own goes with, and is empty here.
_MARKS = """#pragma once
#define __device__
#define __host__
#define __cudart_builtin__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(a) __align__(a)
#define CUDARTAPI
#define CUDARTAPI_CDECL
"""


def of_torch(torch: Path) -> list[Path]:
    return [torch / "include", torch / "include" / "torch" / "csrc" / "api" / "include"]


def of_cuda(torch: Path, work: Path) -> list[Path]:
    """Returns the folders of CUDA's headers, one of them in the work folder. Raises FileNotFoundError."""
    folder = runtime(torch)
    return [folder] if (folder / "crt" / "host_defines.h").is_file() else [folder, _marks(work)]


def runtime(torch: Path) -> Path:
    """Returns the folder of the runtime's headers: that of the wheels that PyTorch was installed with, else a
    toolkit's. Raises FileNotFoundError."""
    found = sorted(torch.parent.glob(f"nvidia/*/include/{_RUNTIME}"))
    toolkits = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")] + [TOOLKIT]
    found += [path for one in toolkits if one and (path := Path(one) / "include" / _RUNTIME).is_file()]
    if not found:
        raise FileNotFoundError("no headers of the CUDA runtime: install nvidia-cuda-runtime, or set CUDA_HOME")
    return found[0].parent


def _marks(work: Path) -> Path:
    folder = work / "marks"
    place = folder / "crt" / "host_defines.h"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_MARKS)
        place.with_name("host_config.h").write_text("#pragma once\n")
    return folder
