"""Device ops of a service that checks the order of ops (`--check-order`): facts that only the program knows.

Part of ``table.py``; the same promise. They are sent to no other service, and change nothing on any device.
"""

from __future__ import annotations

from jitc.ops.op import CONTROL, Op

ORDER_OPS: tuple[Op, ...] = (
    Op(
        CONTROL,
        4,
        "order_site",
        "Where the program is: of the ops that follow, until the next one.",
        (("bytes", "u64", "of the text"),),
        payload="operator, line feed, place in the program",
    ),
    Op(
        CONTROL,
        5,
        "order_known",
        "The program knows that a stream is done up to an op, without having asked.",
        (("stream", "u64", "virtual stream"), ("until", "u64", "sequence of that op; 0: all streams, up to here")),
    ),
    Op(
        CONTROL,
        6,
        "order_host",
        "The next copy reads or writes this memory of the program, which is pinned.",
        (("address", "u64", ""), ("bytes", "u64", ""), ("written", "u32", "1: by the copy")),
    ),
    Op(CONTROL, 7, "order_unasked", "The next wait for the header's stream is not the program's own."),
)
