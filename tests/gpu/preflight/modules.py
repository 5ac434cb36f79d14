"""Probes of modules: the driver's own translator of PTX, and whether a device variable lies at the same place again,
also where cuBLAS and NCCL have been used before: the driver gives addresses in the order of use."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from ctypes import byref, c_uint64
from typing import Any

from . import ptx
from .driver import MIB, NON_BLOCKING, Driver, Refused
from .layout import fix_layout, reserve_layout
from .machine import tried
from .nccl import Nccl
from .parts import Part

_PART_SECONDS = 20.0
_SIDE = 256  # of a matrix


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
    """The addresses in two processes each: as the kernel lays them out at random, where they reserve all above one
    address, and as the kernel lays them out always alike."""
    found: dict[str, Any] = {
        "random_layout": _twice(request), "reserved_layout": _twice(request | {"reserve_layout": True})
    }  # fmt: skip
    allowed = tried(fix_layout)  # counts for the processes that are started from now on
    if allowed == "works":
        found["fixed_layout"] = fixed = _twice(request)
        found["after_libraries"] = after = _twice(request | {"after_libraries": True})
        after["as_without"] = after["same"] and after["addresses"] == fixed["addresses"]
    return found | {"fixed_layout_is_allowed": allowed}


def _twice(request: dict[str, Any]) -> dict[str, Any]:
    with Part("variable_address", request) as one, Part("variable_address", request) as other:
        results = [part.result(_PART_SECONDS) for part in (one, other)]
    addresses = [result["address"] for result in results]
    used = {"used": results[0]["used"]} if "used" in results[0] else {}
    return {"addresses": addresses, "same": addresses[0] == addresses[1]} | used


def variable_address(request: dict[str, Any]) -> dict[str, Any]:
    """A part."""
    if request.get("reserve_layout"):
        reserve_layout()
    driver = Driver(request["driver"])
    driver.context()
    libraries = {"cublas": _product, "nccl": _sum} if request.get("after_libraries") else {}
    used = {name: _tried(use, driver, request[name]) for name, use in libraries.items()}
    address = hex(driver.variable(driver.module(ptx.VARIABLE), "counter"))
    return {"address": address} | ({"used": used} if used else {})


def _tried(use: Callable[[Driver, str], None], driver: Driver, path: str) -> str:
    """A library that is missing, or refuses, is no reason not to look for the variable."""
    try:
        use(driver, path)
        driver("cuCtxSynchronize")
    except (OSError, AttributeError, Refused) as error:
        return f"{type(error).__name__}: {error}"
    return "used"


def _product(driver: Driver, path: str) -> None:
    """Of two matrices, by cuBLAS."""
    library, handle, one = ctypes.CDLL(path), c_uint64(), ctypes.c_float(1.0)
    left, right, result = (driver.allocate(4 * _SIDE * _SIDE) for _ in range(3))
    for name, arguments in (
        ("cublasCreate_v2", (byref(handle),)),
        ("cublasSgemm_v2", (handle, 0, 0, _SIDE, _SIDE, _SIDE, byref(one), left, _SIDE, right, _SIDE, byref(one),
                            result, _SIDE)),
    ):  # fmt: skip
        if code := getattr(library, name)(*arguments):
            raise Refused(name, code, "cuBLAS")


def _sum(driver: Driver, path: str) -> None:
    """Of one rank alone, by NCCL."""
    nccl = Nccl(path)
    comm, stream = nccl.join(nccl.unique_id(), 1, 0), driver.handle("cuStreamCreate", NON_BLOCKING)
    nccl.all_reduce(driver.allocate(MIB), MIB // 4, comm, stream)
