"""python -m gpu.holder: has a context on each GPU until its standard input ends.

Where no persistence daemon runs, a GPU starts anew for each process that is alone on it, which takes seconds; so a
check holds it. Called by: check.py. Promises: one line says how many are held, or why none is; a GPU that only one
process may use is left to the steps.
"""

from __future__ import annotations

import sys

from .children import die_with_parent
from .preflight.driver import Driver, Refused

_COMPUTE_MODE, _SHARED = 20, 0  # CUdevice_attribute, CUcomputemode


def main() -> int:
    die_with_parent()
    try:
        print(_hold(), flush=True)
    except (OSError, Refused) as error:
        print(f"held: none: {error}", flush=True)
        return 1
    sys.stdin.buffer.read()
    return 0


def _hold() -> str:
    driver = Driver("libcuda.so.1")
    driver("cuInit", 0)
    shared = [one for one in range(driver.number("cuDeviceGetCount")) if _is_shared(driver, one)]
    for ordinal in shared:
        driver.context(ordinal)
    return f"held: {len(shared)}"


def _is_shared(driver: Driver, ordinal: int) -> bool:
    device = driver.number("cuDeviceGet", ordinal)
    return driver.number("cuDeviceGetAttribute", _COMPUTE_MODE, device) == _SHARED


if __name__ == "__main__":
    sys.exit(main())
