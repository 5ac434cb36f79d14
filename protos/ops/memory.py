"""Device ops of memory: allocations, copies, fills, pinned memory that kernels use.

Part of ``table.py``; the same promise.
"""

from __future__ import annotations

from jitc.ops.op import MEMORY, Op

MEMORY_OPS: tuple[Op, ...] = (
    Op(
        MEMORY,
        1,
        "allocate",
        "Map memory at an address that the client chose.",
        (("address", "u64", "inside the session's range, 2 MiB aligned"), ("bytes", "u64", "size, a multiple of 4096")),
        waits=True,
        resource=True,
    ),
    Op(MEMORY, 2, "free", "Unmap an allocation.", (("address", "u64", "as given to allocate"),), resource=True),
    Op(
        MEMORY,
        3,
        "copy_h2d",
        "Write the payload to device memory.",
        (("address", "u64", "destination"), ("bytes", "u64", "payload bytes, at most 1 MiB")),
        payload="bytes",
    ),
    Op(
        MEMORY,
        4,
        "copy_d2h",
        "Read device memory.",
        (
            ("address", "u64", "source"),
            ("bytes", "u64", "at most 1 MiB"),
            ("element", "u32", "jitc_element_type: what a replay may compare as numbers"),
        ),
        waits=True,
        result="bytes",
    ),
    Op(
        MEMORY,
        5,
        "copy_d2d",
        "Copy inside device memory.",
        (("destination", "u64", ""), ("source", "u64", ""), ("bytes", "u64", "")),
    ),
    Op(
        MEMORY,
        6,
        "copy_2d",
        "Copy rows inside device memory.",
        (
            ("destination", "u64", ""),
            ("destination_pitch", "u64", ""),
            ("source", "u64", ""),
            ("source_pitch", "u64", ""),
            ("width", "u64", "bytes"),
            ("height", "u64", "rows"),
        ),
    ),
    Op(
        MEMORY,
        7,
        "fill",
        "Fill device memory with a repeated value.",
        (
            ("address", "u64", "a multiple of width"),
            ("bytes", "u64", "a multiple of width"),
            ("value", "u32", ""),
            ("width", "u32", "1, 2 or 4"),
        ),
    ),
    Op(
        MEMORY, 8, "memory_info", "Free and total memory.", (), waits=True, result="u64 free, u64 total", compared=False
    ),
    Op(
        MEMORY,
        9,
        "copy_h2d_pinned",
        "Write bytes of the session's pinned memory to device memory. The journal has copy_h2d, with the bytes.",
        (
            ("address", "u64", "destination"),
            ("source", "u64", "inside the session's pinned memory"),
            ("bytes", "u64", "at most 1 MiB"),
        ),
    ),
    Op(
        MEMORY,
        10,
        "copy_d2h_pinned",
        "Read device memory into the session's pinned memory; when it is replayed for a known result, only compare.",
        (
            ("address", "u64", "source"),
            ("destination", "u64", "inside the session's pinned memory"),
            ("bytes", "u64", "at most 1 MiB"),
        ),
        waits=True,
        result="16 bytes, XXH3 128 bit of what was read",
    ),
    Op(
        MEMORY,
        11,
        "host_register",
        "Kernels may use a range of the session's pinned memory, at the address that it has in the program.",
        (("address", "u64", "a multiple of 4096"), ("bytes", "u64", "a multiple of 4096")),
        waits=True,
        resource=True,
    ),
    Op(
        MEMORY,
        12,
        "host_unregister",
        "The opposite, once everything given before has run.",
        (("address", "u64", "as given to host_register"),),
        waits=True,
        resource=True,
    ),
    Op(
        MEMORY,
        13,
        "memory_hold",
        "Hold physical memory that has no address yet.",
        (("handle", "u64", "virtual, of the memory"), ("bytes", "u64", "size, a multiple of 4096")),
        waits=True,
        resource=True,
    ),
    Op(
        MEMORY,
        14,
        "memory_map",
        "Give held memory its address: from here on it is an allocation, which free takes away.",
        (("handle", "u64", "as given to memory_hold"), ("address", "u64", "inside the session's range, 2 MiB aligned")),
        resource=True,
    ),
    Op(
        MEMORY,
        15,
        "memory_drop",
        "Give up held memory that has no address.",
        (("handle", "u64", "as given to memory_hold"),),
        resource=True,
    ),
    Op(
        MEMORY,
        16,
        "copy_3d",
        "Copy slices of rows inside device memory.",
        (
            ("destination", "u64", ""),
            ("destination_pitch", "u64", "from row to row"),
            ("destination_slice", "u64", "from slice to slice"),
            ("source", "u64", ""),
            ("source_pitch", "u64", ""),
            ("source_slice", "u64", ""),
            ("width", "u64", "bytes"),
            ("height", "u64", "rows of a slice"),
            ("depth", "u64", "slices"),
        ),
    ),
)
