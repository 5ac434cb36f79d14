"""Device ops about the program, not the device: its position in its steps, and the progress that it knows.

Part of ``table.py``; the same promise.
"""

from __future__ import annotations

from jitc.ops.op import CONTROL, Op

CONTROL_OPS: tuple[Op, ...] = (
    Op(
        CONTROL,
        1,
        "step_begin",
        "An optimizer step is about to change state (pre hook).",
        (("step", "u64", "steps begun in this session, from 1"),),
    ),
    Op(
        CONTROL,
        2,
        "boundary",
        "The optimizer step is over (post hook): a boundary, with what is live. What is not in the list may be lost: "
        "an allocation is in it as a whole, unless somebody names what is live there (jitc_follow_memory).",
        (("boundary", "u64", "number of the boundary, from 1"), ("count", "u64", "live blocks that follow")),
        payload="LiveBlock[count], by ordinal",
    ),
    Op(
        CONTROL,
        3,
        "live_set",
        "What is live as the optimizer step begins, listed as for a boundary; comes right before step_begin. An empty "
        "list is one.",
        (("count", "u64", "live blocks that follow"),),
        payload="LiveBlock[count], by ordinal",
    ),
    Op(
        CONTROL,
        8,
        "known",
        "The program knows, from the progress page, that a stream is done up to an op.",
        (("stream", "u64", "virtual stream"), ("until", "u64", "sequence of that op")),
    ),
)
