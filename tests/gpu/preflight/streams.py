"""Probe of stream-ordered words: how soon the host sees what a stream writes, which is how jitc follows progress."""

from __future__ import annotations

import ctypes
import time
from ctypes import c_uint64
from typing import Any

from .driver import MIB, NON_BLOCKING, Driver
from .memory import HostMemory, median_us

_WRITES, _PATIENCE_SECONDS = 300, 2.0


def stream_words(request: dict[str, Any]) -> dict[str, Any]:
    driver = Driver(request["driver"])
    driver.context()
    memory = HostMemory(2 * MIB)
    device = memory.register(driver)
    word = ctypes.c_uint64.from_address(memory.address)
    made = driver.handle("cuStreamCreate", NON_BLOCKING)
    kinds = {"legacy stream": None, "non-blocking stream": made}
    return {name: _latency(driver, stream, device, word) for name, stream in kinds.items()}


def _latency(driver: Driver, stream: c_uint64 | None, device: int, word: ctypes.c_uint64) -> dict[str, Any]:
    seen, called = [], []
    for value in range(word.value + 1, word.value + 1 + _WRITES):
        begin = time.perf_counter()
        driver("cuStreamWriteValue64_v2", stream, c_uint64(device), c_uint64(value), 0)
        called.append(time.perf_counter() - begin)
        while word.value != value:
            if time.perf_counter() - begin > _PATIENCE_SECONDS:
                raise TimeoutError(f"the host did not see a word within {_PATIENCE_SECONDS:g} s")
        seen.append(time.perf_counter() - begin)
    return {"until_seen": median_us(seen), "call": median_us(called)}
