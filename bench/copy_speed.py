"""Copies between program and device, of pinned memory, which the worker shares, and of pageable memory.

A program without PyTorch on the software device, through a private service: the whole path of a copy. Each round
copies the same bytes in all four ways; a boundary after it empties the journal.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from common import ROOT, finish, parser, summary, workplace

MIB = 1 << 20
#: MB/s of each of the four ways, at least.
GOAL = 5000


def program(mib: int, rounds: int) -> dict[str, list[float]]:
    """Of the process with the interposer: MB/s of each round."""
    import ctypes
    import time

    cuda = ctypes.CDLL(None)
    size = mib * MIB

    def made(name: str, *arguments: Any) -> int:
        out = ctypes.c_uint64()
        assert getattr(cuda, name)(ctypes.byref(out), *arguments) == 0, name
        return out.value

    device = made("cudaMalloc", ctypes.c_size_t(size))
    pageable = ctypes.create_string_buffer(b"x" * size, size)
    hosts = {"pinned": made("cudaHostAlloc", ctypes.c_size_t(size), 0), "pageable": ctypes.addressof(pageable)}
    ctypes.memset(hosts["pinned"], 1, size)
    figures: dict[str, list[float]] = {f"{way}_{name}": [] for way in ("h2d", "d2h") for name in hosts}
    for number in range(rounds + 1):
        for name, host in sorted(hosts.items(), reverse=number % 2 == 0):  # none always comes first
            for way, (to, source) in {"h2d": (device, host), "d2h": (host, device)}.items():
                started = time.perf_counter()
                pointers = ctypes.c_void_p(to), ctypes.c_void_p(source)
                assert cuda.cudaMemcpyAsync(*pointers, ctypes.c_size_t(size), 4, ctypes.c_uint64(0)) == 0
                assert cuda.cudaDeviceSynchronize() == 0
                if number:  # the first round touches all pages
                    figures[f"{way}_{name}"].append(size / 1e6 / (time.perf_counter() - started))
        cuda.jitc_step_begin()
        cuda.jitc_step_end(None, ctypes.c_size_t(0))
        assert cuda.cudaDeviceSynchronize() == 0  # the boundary's own copies are not measured
    return figures


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--mib", type=int, default=64, help="per copy")
    arguments.add_argument("--rounds", type=int, default=15)
    arguments.add_argument("--inside", action="store_true", help="(the program itself)")
    args = arguments.parse_args()
    if args.inside:
        print(json.dumps(program(args.mib, args.rounds)))
        return 0
    with workplace("copy_speed") as place:
        service = place.service(1)
        env = service.env | {"LD_PRELOAD": str(ROOT / "interpose" / "lib" / "libjitc_interpose.so")}
        command = [sys.executable, __file__, "--inside", "--mib", str(args.mib), "--rounds", str(args.rounds)]
        output = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True, timeout=300).stdout
    figures = {name: summary(values) for name, values in json.loads(output).items()}
    ratios = {way: figures[f"{way}_pinned"]["median"] / figures[f"{way}_pageable"]["median"] for way in ("h2d", "d2h")}
    for way, ratio in ratios.items():
        pinned, pageable = (figures[f"{way}_{name}"]["median"] for name in ("pinned", "pageable"))
        print(f"{way}: pinned {pinned:.0f} MB/s, pageable {pageable:.0f} MB/s, {ratio:.1f} times")
    goals = {f"{name}: at least {GOAL} MB/s": one["median"] >= GOAL for name, one in figures.items()}
    return finish(args, figures | {f"{way}_ratio": ratio for way, ratio in ratios.items()}, goals)


if __name__ == "__main__":
    sys.exit(main())
