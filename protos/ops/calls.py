"""The form in which a call of one of NVIDIA's libraries is sent: cuBLAS, cuBLASLt, cuDNN.

Part of ``table.py``; the same promise. A call is its function and a slot per argument. Objects of the library that a
call needs are sent with it, as the calls that create them, each after those that it mentions. ``jitc/call_slots.h``
writes and reads it.
"""

from __future__ import annotations

#: Operands of an op that brings objects and a call.
CALL_FIELDS = (
    ("objects", "u32", "that follow, each behind those that it mentions"),
    ("calls", "u32", "1: a call follows them; 0: they are only made"),
    ("bytes", "u64", "of both"),
)
CALL_PAYLOAD = "ObjectHead[objects], each with its CallHead[calls], then a CallHead; each with its CallSlot[slots]"

CALL_RECORDS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "ObjectHead": (("kind", "u32", "ObjectKind"), ("calls", "u32", "that made it, in their order")),
    "CallHead": (("function", "u32", "FNV-1a, 32 bit, of its name"), ("slots", "u32", "CallSlot that follow")),
    "CallSlot": (
        ("value", "u64", "number (i64), real (f64), address, scalar (its bytes), place of an object"),
        ("kind", "u32", "SlotKind"),
        (
            "bytes",
            "u32",
            "of a scalar (more than 8 follow); that follow (array, objects: u64 places); wanted (result); else 8",
        ),
    ),
}

CALL_ENUMS: dict[str, tuple[str, ...]] = {
    "ObjectKind": (
        "backend",
        "tensor",
        "filter",
        "convolution",
        "activation",
        "pooling",
        "dropout",
        "rnn",
        "rnn_data",
        "ctc_loss",
        "transformer",
        "lt_descriptor",
        "lt_layout",
        "lt_preference",
    ),
    "SlotKind": ("number", "real", "address", "null", "object", "handle", "scalar", "array", "objects", "result"),
}
