"""Ways to the GPU beside PyTorch's common operations: `features NAME`; one line of JSON.

Called by: steps/libraries.py, with and without the proxy. Each compares its result with what the host computes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import answers

#: For a library's first call.
_SECONDS = 20


def fft() -> dict[str, Any]:
    import torch

    x = torch.randn(64, 256, generator=torch.Generator().manual_seed(1))
    _close(torch.fft.rfft(x.cuda()).cpu(), torch.fft.rfft(x))
    return {}


def linalg() -> dict[str, Any]:
    """Each on its own: which of them work is told."""
    import torch

    random = torch.Generator().manual_seed(1)
    a, b = torch.randn(32, 32, generator=random), torch.randn(32, 4, generator=random)
    spd = a @ a.T + 32 * torch.eye(32)
    tried: dict[str, Callable[[Any, Any, Any], Any]] = {
        "solve": lambda a, b, spd: torch.linalg.solve(a, b), "inv": lambda a, b, spd: torch.linalg.inv(spd),
        "cholesky": lambda a, b, spd: torch.linalg.cholesky(spd),
        "eigvalsh": lambda a, b, spd: torch.linalg.eigvalsh(spd),
        "svdvals": lambda a, b, spd: torch.linalg.svdvals(a), "qr": lambda a, b, spd: torch.linalg.qr(a).R.abs(),
    }  # fmt: skip
    found = {}
    for name, work in tried.items():
        try:
            _close(work(a.cuda(), b.cuda(), spd.cuda()).cpu(), work(a, b, spd))
            found[name] = "works"
        except Exception as error:  # one must not hide the others
            found[name] = f"{type(error).__name__}: {error}"[:300]
    bad = {name: text for name, text in found.items() if text != "works"}
    if bad:
        raise RuntimeError(f"{len(bad)} of {len(found)} fail: {bad}")
    return found


def linalg_magma() -> dict[str, Any]:
    """The same with MAGMA preferred, which computes with cuBLAS."""
    import torch

    torch.backends.cuda.preferred_linalg_library("magma")
    return linalg()


def sparse() -> dict[str, Any]:
    import torch

    x = torch.randn(64, 64, generator=torch.Generator().manual_seed(1))
    kept = x * (x > 0.5)
    _close(torch.sparse.mm(kept.to_sparse_csr().cuda(), x.cuda()).cpu(), kept @ x)
    return {}


def profiler() -> dict[str, Any]:
    """The names of kernels that it saw; none: it does not see the GPU."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    x = torch.ones(256, 256, device="cuda")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        (x @ x).sum().item()
    events = seen.events() or []
    kernels = sorted({event.name for event in events if str(event.device_type).endswith("CUDA")})
    if not kernels:
        raise RuntimeError("the profiler saw no kernel on the GPU")
    return {"kernels": kernels[:10]}


def cupy() -> dict[str, Any]:
    import cupy  # type: ignore[import-not-found, unused-ignore]

    x = cupy.arange(1000, dtype=cupy.float32)
    double = cupy.ElementwiseKernel("float32 x", "float32 y", "y = 2 * x", "gpu_check_double")
    total = float(double(x).sum())
    if total != 999000.0:
        raise ValueError(f"the sum is {total}")
    return {"version": cupy.__version__}


#: Wheel's library -> what a program begins with, and its arguments beside a place for the result.
_OTHERS = {
    "libcurand": ("curandCreateGenerator", (100,)),
    "libcusparseLt": ("cusparseLtInit", ()),
    "libcufile": ("cuFileDriverOpen", ()),
    "libcupti": ("cuptiSubscribe", (None, None)),
}
_BEGIN = """
import ctypes, sys
path, name, *rest = sys.argv[1:]
ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
arguments = [None if one == "None" else int(one) for one in rest]
print(getattr(ctypes.CDLL(None), name)(ctypes.create_string_buffer(1 << 16), *arguments))
"""


def other_libraries() -> dict[str, Any]:
    """The status of each library's first call, in a process of its own: some crash where they do not work."""
    found = {name: _begin(name, *_OTHERS[name]) for name in _OTHERS}
    if bad := {name: answer for name, answer in found.items() if answer not in ("0", "not installed")}:
        raise RuntimeError(f"{len(bad)} of {len(found)} fail: {bad}")
    return found


def _begin(library: str, function: str, arguments: tuple[object, ...]) -> str:
    folders = (path for folder in sys.path for path in Path(folder).glob(f"nvidia/**/{library}.so*"))
    if (path := next(folders, None)) is None:
        return "not installed"
    command = [sys.executable, "-c", _BEGIN, str(path), function, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    sys.stderr.write(done.stderr)  # what jitc says
    return done.stdout.strip() or f"ended with {done.returncode}"


def compiled() -> dict[str, Any]:
    import torch

    def work(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x * 2 + 1).sum(dim=-1)

    x = torch.randn(64, 512, generator=torch.Generator().manual_seed(1))
    _close(torch.compile(work)(x.cuda()).cpu(), work(x))
    return {}


def _close(got: Any, wanted: Any) -> None:
    import torch

    torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-3)


FEATURES = {one.__name__: one for one in (fft, linalg, linalg_magma, sparse, profiler, cupy, other_libraries, compiled)}


def main(name: str) -> int:
    out = answers()
    try:
        answer: dict[str, Any] = {"ok": True, "data": FEATURES[name]()}
    except ModuleNotFoundError as error:
        answer = {"ok": False, "error": str(error), "absent": error.name}
    except Exception as error:  # whatever it is: it is the answer
        answer = {"ok": False, "error": f"{type(error).__name__}: {error}"[:1200]}
    print(json.dumps(answer), file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
