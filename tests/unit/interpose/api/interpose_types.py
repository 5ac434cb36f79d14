"""The structures of the C ABI, for ctypes."""

from __future__ import annotations

from ctypes import POINTER, Structure, c_double, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p


class PointerAttributes(Structure):
    _fields_ = (
        ("type", c_int32),
        ("device", c_int32),
        ("device_pointer", c_void_p),
        ("host_pointer", c_void_p),
        ("reserved", c_int64 * 8),
    )


class PitchedPointer(Structure):
    _fields_ = (("address", c_void_p), ("pitch", c_size_t), ("width", c_size_t), ("height", c_size_t))


class CopyParameters3d(Structure):
    _fields_ = (
        ("source_array", c_void_p),
        ("source_at", c_size_t * 3),
        ("source", PitchedPointer),
        ("destination_array", c_void_p),
        ("destination_at", c_size_t * 3),
        ("destination", PitchedPointer),
        ("extent", c_size_t * 3),
        ("kind", c_int32),
    )


class UniqueId(Structure):
    _fields_ = (("bytes", c_uint8 * 128),)


class Dim3(Structure):
    _fields_ = (("x", c_uint32), ("y", c_uint32), ("z", c_uint32))


class Heuristic(Structure):
    _fields_ = (
        ("algorithm", c_uint64 * 8),
        ("workspace", c_uint64),
        ("state", c_int32),
        ("waves", c_uint32),
        ("reserved", c_int32 * 4),
    )


class CollectiveItem(Structure):
    """As in generated_ops.h."""

    _fields_ = (
        ("comm", c_uint64),
        ("kind", c_uint32),
        ("dtype", c_uint32),
        ("reduction", c_uint32),
        ("peer", c_int32),
        ("count", c_uint64),
        ("send", c_uint64),
        ("receive", c_uint64),
        ("scale", c_double),
        ("scale_address", c_uint64),
    )


class LiveBlock(Structure):
    _fields_ = (("address", c_uint64), ("bytes", c_uint64), ("ordinal", c_uint64))


class Reply(Structure):
    """jitc_reply."""

    _fields_ = (("data", POINTER(c_uint8)), ("size", c_size_t), ("status", c_uint32))
