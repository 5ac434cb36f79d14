"""Looks at the machine, with the packages that are installed: `look WHAT WORD...`; one line of JSON.

warm                   asks the kernel to read large libraries before they are needed, and does not wait for it
discover OPTION...     what jitc finds; the options are those of jitc-proxyd
torch DEVICE           what PyTorch does without the proxy: how long its import and its first operation take

Called by: steps/machine.py.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from . import answers

#: A smaller file does not matter to a cold disk.
_LEAST = 8 << 20
_LIBRARIES = ("driver", "nccl", "cublas", "cublaslt", "nvrtc", "cudnn")


def warm() -> dict[str, Any]:
    specs = [spec for name in ("torch", "nvidia") if (spec := find_spec(name)) is not None]
    folders = [Path(one) for spec in specs for one in spec.submodule_search_locations or []]
    paths = [path for folder in folders for path in folder.rglob("lib/*.so*") if path.stat().st_size > _LEAST]
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_WILLNEED)
        os.close(descriptor)
    return {"files": len(paths), "bytes": sum(path.stat().st_size for path in paths)}


def discover(*words: str) -> dict[str, Any]:
    from jitc.proxy.backends import open_backend
    from jitc.proxy.commands.settings.service import add_device_options
    from jitc.proxy.common.config import Config

    parser = argparse.ArgumentParser()
    add_device_options(parser)
    given = parser.parse_args(["--device", "cuda", *words])
    named = {name: path for name in _LIBRARIES if (path := getattr(given, name))}
    backend: Any = open_backend(Config(socket="/nowhere", device="cuda", gpus=given.gpus or 0, libraries=named))
    told = backend.assignment(0)
    return {
        "gpus": [
            {
                "name": gpu.name, "memory": gpu.memory_total, "capability": gpu.capability,
                "multiprocessors": gpu.multiprocessors,
            }
            for gpu in backend.gpus
        ],
        "address_base": hex(backend.address_base), "versions": backend.versions(),
        "libraries": {name: told.libraries.get(name, "") for name in _LIBRARIES},
    }  # fmt: skip


def torch(device: str) -> dict[str, Any]:
    begin = time.perf_counter()
    import torch

    imported = time.perf_counter()
    total = torch.ones(8, device=device).sum().item()
    if total != 8:
        raise ValueError(f"the sum of eight ones is {total}")
    found: dict[str, Any] = {"import_seconds": imported - begin, "first_seconds": time.perf_counter() - imported}
    if device == "cuda":
        found |= {"device_count": torch.cuda.device_count(), "cudnn": torch.backends.cudnn.version()}
    return found


def main(what: str, *words: str) -> int:
    out = answers()
    try:
        answer = {one.__name__: one for one in (warm, discover, torch)}[what](*words)  # type: ignore[operator]
    except BaseException as error:  # whatever it is: it is the answer
        answer = {"error": f"{type(error).__name__}: {error}"[:800]}
    print(json.dumps(answer), file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
