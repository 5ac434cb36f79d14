"""Probes of modules: the driver's own translator of PTX, and whether a device variable lies at the same place again."""

from __future__ import annotations

import ctypes
import time
from typing import Any

from . import ptx
from .driver import Driver, Refused
from .machine import fix_layout, tried
from .nccl import Nccl
from .parts import Part

_SECONDS = 10.0


def ptx_jit(request: dict[str, Any]) -> dict[str, Any]:
    """Raises where the driver has none (libnvidia-ptxjitcompiler)."""
    driver = Driver(request["driver"])
    driver.context()
    begin = time.perf_counter()
    function = driver.function(driver.module(ptx.EMPTY), "empty")
    loaded = time.perf_counter() - begin
    driver.launch(function, None)
    driver("cuCtxSynchronize")
    return {"load_seconds": loaded}


def variables(request: dict[str, Any]) -> dict[str, Any]:
    """The addresses in two processes each, as the kernel lays them out at random, and always alike. The driver gives
    them in the order of use: so also where one of the two has used cuBLAS and NCCL before."""
    found: dict[str, Any] = {"random_layout": _twice(request)}
    allowed = tried(fix_layout)  # counts for the processes that are started from now on
    if allowed == "works":
        found["fixed_layout"] = _twice(request)
        found["after_libraries"] = _twice(request, after=True)
    return found | {"fixed_layout_is_allowed": allowed}


def _twice(request: dict[str, Any], after: bool = False) -> dict[str, Any]:
    late = request | {"after": after}
    with Part("variable_address", request) as one, Part("variable_address", late) as other:
        answers = [part.result(_SECONDS) for part in (one, other)]
    addresses = [answer["address"] for answer in answers]
    return {"addresses": addresses, "same": addresses[0] == addresses[1], "used": answers[1]["used"]}


def variable_address(request: dict[str, Any]) -> dict[str, Any]:
    """A part."""
    driver = Driver(request["driver"])
    driver.context()
    used = _use_libraries(request) if request.get("after") else {}
    return {"address": hex(driver.variable(driver.module(ptx.VARIABLE), "counter")), "used": used}


def _use_libraries(request: dict[str, Any]) -> dict[str, str]:
    """By name: "yes", or why not."""

    def cublas() -> None:
        code = ctypes.CDLL(request["cublas"]).cublasCreate_v2(ctypes.byref(ctypes.c_void_p()))
        if code:
            raise OSError(f"cublasCreate_v2 gave {code}")

    def nccl() -> None:
        library = Nccl(request["nccl"])
        library.join(library.unique_id(), 1, 0)

    used = {}
    for name, use in (("cublas", cublas), ("nccl", nccl)):
        try:
            use()
            used[name] = "yes"
        except (OSError, AttributeError, Refused) as error:
            used[name] = str(error)
    return used
