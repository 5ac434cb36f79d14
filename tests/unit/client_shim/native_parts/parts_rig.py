"""A PyTorch that has nothing but its version, an installation of jitc's that is no checkout, and a compiler that a test
decides about. Used by the tests of this folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from toolkit.tree import ROOT

from jitc.client_shim.native_parts.torch_build import TorchBuild, in_folder

#: What `provide` needs of jitc: its own modules, and the sources of a part.
KEPT = ("client_shim/__init__.py", "client_shim/native_parts", "client_shim/native", "interpose/include",
        "protos/include", "proxy/native/operators", "proxy/native/include")  # fmt: skip


def torch_package(
    folder: Path, version: str = "2.99.0+cu130", git: str = "abc", old_strings: bool = False
) -> TorchBuild:
    package = folder / "torch"
    (package / "share" / "cmake" / "Torch").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "version.py").write_text(
        f"from typing import Optional\n__all__ = ['__version__', 'git_version']\n__version__ = '{version}'\n"
        f"debug = False\ncuda: Optional[str] = '13.0'\ngit_version = '{git}'\n"
    )
    flag = f'set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI={int(not old_strings)}")\n'
    (package / "share" / "cmake" / "Torch" / "TorchConfig.cmake").write_text(flag)
    runtime = folder / "nvidia" / "cu13" / "include"
    runtime.mkdir(parents=True)
    (runtime / "cuda_runtime_api.h").write_text("")
    built = in_folder(package)
    assert built is not None
    return built


def installation(folder: Path) -> Path:
    """Copies what there is of jitc in an installation; returns the folder for PYTHONPATH."""
    for one in KEPT:
        source, place = ROOT / one, folder / "jitc" / one
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, place)
    return folder


def compiler(folder: Path, script: str) -> Path:
    """Writes a compiler: a shell script that knows the place of its output as $out, and whether it links as $links."""
    program = folder / "compiler"
    program.write_text(
        "#!/bin/bash\nlinks=; last=\n"
        'for one in "$@"; do [ "$last" = -o ] && out=$one; [ "$one" = -shared ] && links=1; last=$one; done\n'
        f"{script}\n"
    )
    program.chmod(0o755)
    return program


#: Makes what it is asked for, of the name of the file alone.
WORKS = 'echo "made ${out##*/}" > "$out"'


def asking(torch: TorchBuild, code: str = "") -> str:
    """A program that asks for the part, and prints its folder or why there is none."""
    return (
        "import sys\nfrom pathlib import Path\nfrom jitc.client_shim.native_parts import supply, torch_build\n"
        f"torch = torch_build.in_folder(Path({str(torch.folder)!r}))\n{code}\n"
        "try:\n    print(supply.provide(torch))\n"
        "except (supply.CannotBuild, supply.UnsafeStore) as error:\n    sys.exit(str(error))\n"
    )


def providing(
    packages: Path, torch: TorchBuild, cache: Path, cxx: Path | str, code: str = "", *, errors: int = subprocess.PIPE,
    **environ: str,
) -> subprocess.Popen[str]:  # fmt: skip
    """Starts a process that asks for the part. errors: a descriptor for its standard error."""
    kept = {name: value for name, value in os.environ.items() if name not in ("LOCAL_RANK", "XDG_CACHE_HOME")}
    told = {"PYTHONPATH": str(packages), "JITC_CACHE": str(cache), "CXX": str(cxx)}
    heard = ["/usr/bin/env", "--default-signal=INT"]  # under nohup or in a background, processes ignore it
    return subprocess.Popen(
        [*heard, sys.executable, "-S", "-c", asking(torch, code)], env=kept | told | environ, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    said, errors = process.communicate(timeout=120)
    return process.returncode, said.strip(), errors.strip()
