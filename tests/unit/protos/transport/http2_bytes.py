"""What clients of a gRPC server say, byte by byte, for those that say it wrongly or in part. Called by: tests here."""

from __future__ import annotations

import struct

METHOD = "/test.Echo/Stream"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name: str, value: str) -> bytes:
    """A header that is not put into the table (RFC 7541, 6.2.2), up to 126 bytes each."""
    return b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def request(stream: int = 1, **more: str) -> bytes:
    pairs = {
        ":method": "POST",
        ":scheme": "http",
        ":path": METHOD,
        ":authority": "x",
        "content-type": "application/grpc",
        **more,
    }
    return frame(1, 4, stream, b"".join(literal(*one) for one in pairs.items()))


def message(text: bytes, flags: int = 0, stream: int = 1) -> bytes:
    """One of gRPC's, in a frame of its own. flags 1: the last one."""
    return frame(0, flags, stream, b"\x00" + struct.pack(">I", len(text)) + text)


PING = frame(6, 0, 0, b"12345678")
GREETING = PREFACE + frame(4, 0, 0, b"")
