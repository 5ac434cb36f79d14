"""Cost of an op on its way through the journal: hand-over, checksum, dispatch, execution of a tiny op.

Batches go straight into the executor's library, without gRPC. Payloads are compared with a plain copy of the same
bytes in memory, the floor.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from dataclasses import dataclass
from typing import Any

from common import finish, parser, summary

from jitc.proxy.common.executor import Executor
from jitc.proxy.common.paths import executor_library
from jitc.proxy.common.shared_memory import shared
from jitc.v1 import session_pb2

BASE, RANGE = 0x2000_0000_0000, 1 << 38
GOAL_US = 2.0
ALLOCATE, COPY_H2D, FILL, DEVICE_SYNCHRONIZE, STEP_BEGIN, BOUNDARY = 0x0201, 0x0203, 0x0207, 0x0304, 0x0101, 0x0102


class NoControl:
    """The executor has nobody to ask here."""

    def join(self, *_: Any) -> tuple[str, int]:
        raise RuntimeError("no communicators in this benchmark")

    def fault(self, session: int, sequence: int, status: int, cause: str, message: str) -> None:
        print(f"fault at op {sequence}: {cause}: {message}", file=sys.stderr)
        os._exit(1)

    def fault_fired(self, number: int, detail: str) -> None:
        raise RuntimeError(detail)

    def race(self, report: dict[str, Any]) -> None:
        raise RuntimeError(f"a race: {report}")


@dataclass
class Feed:
    """One session, fed by hand."""

    executor: Executor
    sequence: int = 0

    def batch(self, ops: list[tuple[int, bytes, int]]) -> bytes:
        from toolkit.client import op

        records = []
        for number, operands, flags in ops:
            self.sequence += 1
            records.append(op(number, self.sequence, operands, flags))
        return session_pb2.OpBatch(records=b"".join(records)).SerializeToString()

    def wait(self) -> None:
        """Until everything has been executed."""
        from toolkit.client import RESULT, completions

        self.executor.submit(1, self.batch([(DEVICE_SYNCHRONIZE, b"", 1)]))
        poll = self.executor.poller(1, 10000)
        while message := poll():
            records = session_pb2.CompletionBatch.FromString(message).records
            if any(one.kind == RESULT and one.sequence == self.sequence for one in completions(records)):
                return
        raise RuntimeError("no completion")

    def run(self, batches: list[bytes]) -> float:
        started = time.perf_counter()
        for one in batches:
            self.executor.submit(1, one)
        self.wait()
        return time.perf_counter() - started


def open_feed(executor: Executor, keep: list[Any]) -> Feed:
    journal, snapshot, board = shared("journal", 256 << 20), shared("snapshot", 1 << 30), shared("board", 1 << 20)
    keep += [journal, snapshot, board]
    executor.open_session({
        "session": 1, "token": "0" * 32, "slot": 0, "journal_path": journal.path, "journal_bytes": journal.size,
        "spill_path": "", "spill_bytes": 0, "snapshot_path": snapshot.path, "snapshot_bytes": snapshot.size,
        "board_path": board.path, "address_base": BASE, "address_bytes": RANGE, "rebuild": False, "epoch": 1,
    })  # fmt: skip
    executor.attach(1, 0)
    return Feed(executor)


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=15)
    args = arguments.parse_args()
    options = {"device": "software", "memory_limit": 1 << 30, "threads": 1}
    executor = Executor(executor_library(), options, NoControl())  # type: ignore[arg-type]
    keep: list[Any] = []
    feed = open_feed(executor, keep)
    feed.run([feed.batch([(ALLOCATE, struct.pack("<QQ", BASE, 2 << 20), 1)])])
    small = struct.pack("<QQII", BASE, 64, 7, 1)
    payload = os.urandom(64 << 10)
    large = struct.pack("<QQ", BASE, len(payload)) + payload
    tiny: list[float] = []
    copies: list[float] = []
    floor: list[float] = []
    for step in range(1, args.rounds + 1):
        tiny.append(feed.run([feed.batch([(FILL, small, 0)] * 64) for _ in range(100)]) / 6400 * 1e6)
        batches = [feed.batch([(COPY_H2D, large, 0)] * 8) for _ in range(50)]
        copies.append(400 * len(payload) / feed.run(batches) / 1e6)
        started = time.perf_counter()
        for _ in range(400):
            bytearray(payload)
        floor.append(400 * len(payload) / (time.perf_counter() - started) / 1e6)
        end = struct.pack("<QQQQQ", step, 1, BASE, 2 << 20, 1)
        feed.run([feed.batch([(STEP_BEGIN, struct.pack("<Q", step), 0), (BOUNDARY, end, 0)])])
    figures = {"op_us": summary(tiny), "h2d_mb_per_s": summary(copies), "plain_copy_mb_per_s": summary(floor)}
    print(
        f"{figures['op_us']['median']:.2f} us per small op; "
        f"host-to-device copies {figures['h2d_mb_per_s']['median']:.0f} MB/s"
    )
    print(f"(a plain copy of the same bytes: {figures['plain_copy_mb_per_s']['median']:.0f} MB/s)")
    executor.detach(1)
    executor.close_session(1)
    executor.close()
    return finish(args, figures, {f"at most {GOAL_US} us per small op": figures["op_us"]["median"] <= GOAL_US})


if __name__ == "__main__":
    sys.exit(main())
