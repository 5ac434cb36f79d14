"""Cost of a boundary in copy mode, and of rolling back to one: live blocks that all change, that stay the same since
the boundary before, or that have been at rest for longer.

Blocks go straight into the executor's library, without gRPC. A plain copy of the same bytes in memory is the floor.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from typing import Any

from common import finish, parser, summary
from journal_cost import ALLOCATE, BASE, BOUNDARY, COPY_H2D, FILL, STEP_BEGIN, Feed, NoControl, open_feed

from jitc.proxy.common.executor import Executor
from jitc.proxy.common.paths import executor_library

MIB = 1 << 20
TOTAL = 256 * MIB
#: Boundaries until the device knows what is at rest.
LEARNED = 12
#: The goal for memory that nothing has written since the boundary before, or for longer, in ms per MB.
UNCHANGED = 0.005


def boundary(feed: Feed, step: int, size: int) -> float:
    """Seconds of one boundary, with all memory live, in blocks of a size."""
    blocks = b"".join(struct.pack("<QQQ", BASE + at, size, at) for at in range(0, TOTAL, size))
    end = struct.pack("<QQ", step, TOTAL // size) + blocks
    return feed.run([feed.batch([(STEP_BEGIN, struct.pack("<Q", step), 0), (BOUNDARY, end, 0)])])


def change(feed: Feed, value: int) -> None:
    """Every byte that is live."""
    feed.run([feed.batch([(FILL, struct.pack("<QQII", BASE, TOTAL, value % 256, 1), 0)])])


def roll_back(executor: Executor, epoch: int, step: int) -> float:
    executor.command("Fence", {"session": 1, "epoch": epoch})
    started = time.perf_counter()
    assert executor.command("Rollback", {"session": 1, "epoch": epoch, "boundary": step})["complete"]
    seconds = time.perf_counter() - started
    executor.command("Resume", {"session": 1, "epoch": epoch, "slots": [0]})
    return seconds


def plain_copy(data: bytes, into: bytearray) -> float:
    started = time.perf_counter()
    memoryview(into)[:] = data
    return time.perf_counter() - started


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--threads", type=int, default=1, help="of the device, which copy and hash at once (1)")
    args = arguments.parse_args()
    options = {"device": "software", "memory_limit": 4 * TOTAL, "threads": args.threads}
    executor = Executor(executor_library(), options, NoControl())  # type: ignore[arg-type]
    keep: list[Any] = []
    feed = open_feed(executor, keep)
    feed.run([feed.batch([(ALLOCATE, struct.pack("<QQ", BASE, TOTAL), 1)])])
    data = os.urandom(MIB)
    for at in range(0, TOTAL, MIB):
        feed.run([feed.batch([(COPY_H2D, struct.pack("<QQ", BASE + at, MIB) + data, 0)])])
    whole, place = os.urandom(MIB) * (TOTAL // MIB), bytearray(TOTAL)
    step, met = 0, dict[str, bool]()
    figures: dict[str, dict[str, float]] = {}
    for size in (256 << 10, 16 * MIB):
        first, step = step + 1, step + LEARNED + args.rounds
        rest = [TOTAL / boundary(feed, number, size) / 1e6 for number in range(first, step + 1)][LEARNED:]
        figures[f"at_rest_{size}"] = summary(rest)
        per_mb = 1000 / figures[f"at_rest_{size}"]["median"]
        met[f"a boundary takes at most {UNCHANGED} ms per MB that is at rest, blocks of {size}"] = per_mb <= UNCHANGED
        print(f"at rest    blocks of {size:>9} bytes: {per_mb:6.4f} ms per MB")
    for size in (64 << 10, 16 * MIB):
        made, same, back, floor = [], [], [], []
        for number in range(args.rounds + 2):
            step += 3  # the second of three boundaries finds out what stays the same
            change(feed, step)
            seconds, _, again = (boundary(feed, number, size) for number in (step - 2, step - 1, step))
            if number < 2:  # the memory for copies is new
                continue
            made.append(TOTAL / seconds / 1e6)
            same.append(TOTAL / again / 1e6)
            back.append(TOTAL / roll_back(executor, step, step) / 1e6)
            floor.append(TOTAL / plain_copy(whole, place) / 1e6)
        for name, values in (("changed", made), ("unchanged", same), ("roll_back", back), ("plain_copy", floor)):
            figures[f"{name}_{size}"] = summary(values)
            print(f"{name:<10} blocks of {size:>9} bytes: {figures[f'{name}_{size}']['median'] / 1000:6.2f} GB/s")
        once = 1000 / figures[f"unchanged_{size}"]["median"]
        met[f"at most {UNCHANGED} ms per MB unchanged since the boundary before, blocks of {size}"] = once <= UNCHANGED
    executor.detach(1)
    executor.close_session(1)
    executor.close()
    return finish(args, figures, met)


if __name__ == "__main__":
    sys.exit(main())
