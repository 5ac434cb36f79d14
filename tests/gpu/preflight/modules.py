"""Probes of modules: the driver's own translator of PTX, and whether a device variable lies at the same place again."""

from __future__ import annotations

import time
from typing import Any

from . import ptx
from .driver import Driver
from .machine import fix_layout, tried
from .parts import Part


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
    """The addresses in two processes each, as the kernel lays them out at random, and always alike."""
    found: dict[str, Any] = {"random_layout": _twice(request)}
    allowed = tried(fix_layout)  # counts for the processes that are started from now on
    if allowed == "works":
        found["fixed_layout"] = _twice(request)
    return found | {"fixed_layout_is_allowed": allowed}


def _twice(request: dict[str, Any]) -> dict[str, Any]:
    with Part("variable_address", request) as one, Part("variable_address", request) as other:
        addresses = [part.result(10.0)["address"] for part in (one, other)]
    return {"addresses": addresses, "same": addresses[0] == addresses[1]}


def variable_address(request: dict[str, Any]) -> dict[str, Any]:
    """A part."""
    driver = Driver(request["driver"])
    driver.context()
    return {"address": hex(driver.variable(driver.module(ptx.VARIABLE), "counter"))}
