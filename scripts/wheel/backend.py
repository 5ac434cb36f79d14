"""The build backend of pyproject.toml: scikit-build-core's, which is asked only where jitc can be built and can work.

Called by: pip and `build`, as PEP 517 says. Promise: where it cannot, one line says what is missing, and no traceback
follows. An editable installation compiles nothing: `make build` does.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from scikit_build_core import build as _build

#: Headers that the native parts include -> the packages of Debian and of Red Hat that have them.
_HEADERS = {
    "nghttp2/nghttp2.h": ("libnghttp2-dev", "libnghttp2-devel"),
    "xxhash.h": ("libxxhash-dev", "xxhash-devel"),
    "nlohmann/json.hpp": ("nlohmann-json3-dev", "json-devel"),
}
_DEBIAN, _RED_HAT = 0, 1
_OF_COMPILER = ("g++", "gcc-c++")
_OF_PKG_CONFIG = ("pkg-config", "pkgconf-pkg-config")

#: Makes stubs that work with every release of grpcio and protobuf that pyproject.toml allows: they ask for at least the
#: one that they are of.
PROTOC = ("grpcio-tools==1.74.0; python_version < '3.14'", "grpcio-tools>=1.76; python_version >= '3.14'")

build_sdist = _build.build_sdist
get_requires_for_build_sdist = _build.get_requires_for_build_sdist
get_requires_for_build_editable = _build.get_requires_for_build_sdist  # nothing is compiled


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    _refuse_what_cannot_work()
    stubs = [] if Path("PKG-INFO").exists() else list(PROTOC)  # a source distribution has them
    return [*_build.get_requires_for_build_wheel(config_settings), *stubs]


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    _refuse_what_cannot_work()
    return _build.build_wheel(wheel_directory, config_settings, metadata_directory)


def prepare_metadata_for_build_editable(metadata_directory: str, config_settings: Any = None) -> str:
    import editable

    return editable.metadata(metadata_directory, config_settings)


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    import editable

    return editable.build(wheel_directory, config_settings)


def _refuse_what_cannot_work() -> None:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        _refuse(f"jitc runs on Linux on x86-64 processors; this is {sys.platform} on {platform.machine()}")
    if "musl" in (sysconfig.get_config_var("HOST_GNU_TYPE") or "") or not _glibc():
        _refuse("jitc needs a system with glibc, as PyTorch does; this one has musl (Alpine): take an image of Debian")
    missing = _missing()
    if missing:
        names = [" ".join(one[kind] for one in missing) for kind in (_DEBIAN, _RED_HAT)]
        _refuse(
            "jitc is built here from its sources, and packages are missing for that. "
            f"Debian, Ubuntu: apt-get install {names[0]}. Red Hat: dnf install {names[1]}"
        )


def _refuse(reason: str) -> None:
    raise SystemExit(f"jitc cannot be installed: {reason}")


def _glibc() -> str | None:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):
        return None


def _missing() -> list[tuple[str, str]]:
    compiler = (
        os.environ.get("CXX", "").split() or [name for name in ("c++", "g++", "clang++") if shutil.which(name)][:1]
    )
    if not compiler or shutil.which(compiler[0]) is None:
        return [_OF_COMPILER, _OF_PKG_CONFIG, *_HEADERS.values()]
    found = [] if shutil.which("pkg-config") else [_OF_PKG_CONFIG]
    return found + [packages for header, packages in _HEADERS.items() if not _compiles(compiler, header)]


def _compiles(compiler: list[str], header: str) -> bool:
    command = [*compiler, "-std=c++20", "-x", "c++", "-fsyntax-only", "-"]
    done = subprocess.run(command, input=f"#include <{header}>\n", capture_output=True, text=True, check=False)
    return done.returncode == 0
