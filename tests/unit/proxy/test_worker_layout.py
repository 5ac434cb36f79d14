"""What a worker maps lies where other workers have it, also in a sandbox that lets no process choose its layout."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest
from toolkit.sandbox import at_most, refusing

from jitc.proxy.common import config
from jitc.proxy.worker.layout import FLOOR

PROGRAM = """
import ctypes, mmap, sys
from jitc.proxy.worker.layout import fix_layout
why = fix_layout() if sys.argv[1] == "fixed" else ""
print(why or "fixed")
for size in (1 << 26, 1 << 33, 1 << 12, 1 << 28):
    print(ctypes.addressof(ctypes.c_char.from_buffer(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | 0x4000))))
import decimal  # opens a library
with open("/proc/self/maps") as maps:
    print(next(line for line in maps if "_decimal" in line).split("-")[0])
"""


def run(*before: str, way: str = "fixed") -> list[str]:
    command = [*before, sys.executable, "-c", PROGRAM, way]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.splitlines()


def test_a_sandbox_s_workers_are_laid_out_alike() -> None:
    first, second, third = (run(*refusing("personality")) for _ in range(3))
    assert first[0] == "fixed" and first == second == third
    assert all(int(one) < FLOOR for one in first[1:4])
    assert int(first[2]) > config.PINNED_BASE + config.SLOTS * (64 << 30), "not where sessions have their addresses"


def test_otherwise_they_are_not() -> None:
    first, second = (run(*refusing("personality"), way="random") for _ in range(2))
    assert first[1:] != second[1:]


def test_where_the_kernel_lays_them_out_alike_nothing_is_reserved() -> None:
    first = run("setarch", "-R")
    assert first[0] == "fixed" and int(first[1]) > FLOOR


@pytest.mark.parametrize(
    ("number", "limit", "says"),
    [
        (resource.RLIMIT_AS, at_most("as", 1 << 40), "cannot be reserved (ulimit -v)"),
        (resource.RLIMIT_STACK, at_most("stack", "unlimited"), "mappings begin at the bottom"),
    ],
    ids=["address space", "stack"],
)
def test_what_stands_in_the_way_is_said(number: int, limit: tuple[str, ...], says: str) -> None:
    hard = resource.getrlimit(number)[1]
    if hard != resource.RLIM_INFINITY:
        pytest.skip("the limit cannot be changed here")
    assert says in run(*limit, *refusing("personality"))[0]
