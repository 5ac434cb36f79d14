"""Generated from interpose/spec/ops.py by `python -m jitc.interpose.generator`; do not edit."""

from __future__ import annotations

FORMAT_VERSION = 1

#: op name -> id
IDS: dict[str, int] = {
    "step_begin": 0x0101,
    "boundary": 0x0102,
    "live_set": 0x0103,
    "allocate": 0x0201,
    "free": 0x0202,
    "copy_h2d": 0x0203,
    "copy_d2h": 0x0204,
    "copy_d2d": 0x0205,
    "copy_2d": 0x0206,
    "fill": 0x0207,
    "memory_info": 0x0208,
    "stream_create": 0x0301,
    "stream_destroy": 0x0302,
    "stream_synchronize": 0x0303,
    "device_synchronize": 0x0304,
    "event_create": 0x0305,
    "event_destroy": 0x0306,
    "event_record": 0x0307,
    "event_wait": 0x0308,
    "event_synchronize": 0x0309,
    "event_elapsed": 0x030A,
    "operator_call": 0x0401,
    "operator_query": 0x0402,
    "communicator_create": 0x0501,
    "communicator_split": 0x0502,
    "communicator_destroy": 0x0503,
    "collective": 0x0504,
    "matmul": 0x0601,
}

#: op id -> name
NAMES: dict[int, str] = {number: name for name, number in IDS.items()}

#: op name -> struct format of the operands after the header
FORMATS: dict[str, str] = {
    "step_begin": "<Q",
    "boundary": "<QQ",
    "live_set": "<Q",
    "allocate": "<QQ",
    "free": "<Q",
    "copy_h2d": "<QQ",
    "copy_d2h": "<QQ",
    "copy_d2d": "<QQQ",
    "copy_2d": "<QQQQQQ",
    "fill": "<QQII",
    "memory_info": "<",
    "stream_create": "<QIi",
    "stream_destroy": "<Q",
    "stream_synchronize": "<",
    "device_synchronize": "<",
    "event_create": "<QQ",
    "event_destroy": "<Q",
    "event_record": "<Q",
    "event_wait": "<Q",
    "event_synchronize": "<Q",
    "event_elapsed": "<QQ",
    "operator_call": "<",
    "operator_query": "<",
    "communicator_create": "<Qii128s",
    "communicator_split": "<QQii",
    "communicator_destroy": "<Q",
    "collective": "<Q",
    "matmul": "<qqqqQqqQqqQqqQqqddQQQQqIIIIIIIIII",
}
