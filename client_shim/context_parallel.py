"""PyTorch's context parallel on the software device: while it is on, attention that names no kernel uses a fused one.

It supports only fused attention. On a GPU PyTorch uses that by itself; on the software device it uses its plain path,
which context parallel cannot split. Called by: kernel_compilers.py, when a program imports it. Promises: a program
that has chosen kernels itself (sdpa_kernel()) keeps its choice, and the previous choice is restored afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

#: Where releases of PyTorch have it (2.11.0; 2.6.0), and what turns it on and off there.
MODULES = (
    "torch.distributed.tensor.experimental._context_parallel._attention",
    "torch.distributed.tensor.experimental._attention",
)
_SWITCHES = (
    ("_enable_cp_dtensor_dispatcher", "_disable_cp_dtensor_dispatcher"),
    ("_enable_context_parallel_dispatcher", "_disable_context_parallel_dispatcher"),
)

_chosen = False


def change(module: ModuleType) -> None:
    for on, off in _SWITCHES:
        functions = getattr(module, on, None), getattr(module, off, None)
        if all(getattr(one, "__module__", None) == module.__name__ for one in functions):
            setattr(module, on, _before(functions[0], _choose_fused))
            setattr(module, off, _before(functions[1], _choose_as_before))
            return


def _before(function: Any, action: Callable[[], None]) -> Any:
    def both(*arguments: Any, **keywords: Any) -> Any:
        action()
        return function(*arguments, **keywords)

    return both


def _choose_fused() -> None:
    global _chosen
    cuda: Any = torch.backends.cuda
    if cuda.math_sdp_enabled() and not cuda.flash_sdp_enabled() and not cuda.mem_efficient_sdp_enabled():
        _turn(True)
        _chosen = True


def _choose_as_before() -> None:
    global _chosen
    if _chosen:
        _turn(False)
        _chosen = False


def _turn(on: bool) -> None:
    torch.backends.cuda.enable_flash_sdp(on)
    torch.backends.cuda.enable_mem_efficient_sdp(on)
