"""The session layer through ctypes (build/tests/libjitc_session_test.so); once per process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parents[4]
LIBRARIES = Path(os.environ.get("JITC_TEST_LIBRARIES", _ROOT / "build" / "tests"))
TRANSPORT = _ROOT / "interpose" / "lib"  # where it is found if not beside them
SITE_SOURCE = ctypes.CFUNCTYPE(ctypes.c_void_p)
HEARD = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t)


@cache
def library() -> ctypes.CDLL:
    loaded = ctypes.CDLL(str(LIBRARIES / "libjitc_session_test.so"))
    handle, u64, u32, size = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_size_t
    text, numbers = ctypes.c_char_p, ctypes.POINTER(ctypes.c_double)
    for name, result, arguments in (
        ("gpus", ctypes.c_int, []),
        ("gpu", text, [ctypes.c_int]),
        ("session", handle, [u32, ctypes.c_int, ctypes.POINTER(u32)]),
        ("session_count", ctypes.c_int, []),
        ("owner", handle, [u64]),
        ("forked", ctypes.c_int, []),
        ("set_phase", None, [u32]),
        ("set_phase_source", None, [ctypes.CFUNCTYPE(ctypes.c_int)]),
        ("set_site_source", None, [SITE_SOURCE]),
        ("found_done", None, [handle, u64, u64]),
        ("boundary", u64, [handle]),
        ("service_socket", text, [text]),
        ("last_message", text, []),
        ("submit", u64, [handle, u64, text, size]),
        ("receive", u64, [handle, u64, u64, HEARD]),
        ("call", u32, [handle, u64, text, size, handle, size, ctypes.POINTER(size)]),
        ("synchronize", u32, [handle, u64]),
        ("device_synchronize", u32, [handle]),
        ("record", u64, [handle, u64, u64]),
        ("wait", u64, [handle, u64, u64]),
        ("synchronize_event", u32, [handle, u64]),
        ("executed", ctypes.c_int, [handle, u64, u64]),
        ("executed_by_now", ctypes.c_int, [handle, u64, u64]),
        ("wait_executed", ctypes.c_int, [handle, u64, u64]),
        ("wait_all_executed", ctypes.c_int, [handle]),
        ("acknowledged", ctypes.c_int, [handle, u64, ctypes.c_int]),
        ("last", u64, [handle, u64]),
        ("status", u32, [handle]),
        ("base", u64, [handle]),
        ("bytes", u64, [handle]),
        ("time_submits", None, [handle, u64, size, size, numbers]),
        ("time_calls", None, [handle, u64, size, numbers]),
    ):
        function = getattr(loaded, f"rt_{name}")
        function.restype, function.argtypes = result, arguments
    return loaded


def gpus() -> list[list[str]]:
    return [library().rt_gpu(i).decode().split("|") for i in range(library().rt_gpus())]


def last_message() -> str:
    return str(library().rt_last_message().decode())


class NoSession(Exception):
    """Node::session gave nullptr; args: the error."""


class Session:
    def __init__(self, gpu: int = 0, create: bool = True) -> None:
        error = ctypes.c_uint32(12345)
        self.handle = library().rt_session(gpu, int(create), ctypes.byref(error))
        if not self.handle:
            raise NoSession(error.value)
        self._kept: list[object] = []

    def submit(self, payload: bytes = b"", stream: int = 1) -> int:
        return int(library().rt_submit(self.handle, stream, payload, len(payload)))

    def receive(self, tag: int, heard: Callable[[int, int, bytes], None], stream: int = 1) -> int:
        def hear(tag: int, status: int, data: int, size: int) -> None:
            heard(tag, status, ctypes.string_at(data, size) if size else b"")

        hook = HEARD(hear)
        self._kept.append(hook)
        return int(library().rt_receive(self.handle, stream, tag, hook))

    def call(self, payload: bytes = b"", stream: int = 1) -> tuple[int, bytes]:
        out, got = ctypes.create_string_buffer(len(payload) + 4096), ctypes.c_size_t()
        status = library().rt_call(
            self.handle, stream, payload, len(payload), ctypes.byref(out), len(out), ctypes.byref(got)
        )
        return int(status), out.raw[: got.value]

    def synchronize(self, stream: int = 1) -> int:
        return int(library().rt_synchronize(self.handle, stream))

    def device_synchronize(self) -> int:
        return int(library().rt_device_synchronize(self.handle))

    def record(self, event: int, stream: int = 1) -> int:
        return int(library().rt_record(self.handle, stream, event))

    def wait(self, event: int, stream: int = 1) -> int:
        return int(library().rt_wait(self.handle, stream, event))

    def synchronize_event(self, event: int) -> int:
        return int(library().rt_synchronize_event(self.handle, event))

    def executed(self, sequence: int, stream: int = 1) -> bool:
        return bool(library().rt_executed(self.handle, stream, sequence))

    def last(self, stream: int = 1) -> int:
        return int(library().rt_last(self.handle, stream))

    def executed_by_now(self, sequence: int, stream: int = 1) -> bool:
        return bool(library().rt_executed_by_now(self.handle, stream, sequence))

    def wait_executed(self, sequence: int, stream: int = 1) -> bool:
        return bool(library().rt_wait_executed(self.handle, stream, sequence))

    def sleep_until_executed(self, sequence: int, stream: int = 1) -> bool:
        """However long it takes. False: the session is over."""
        while not (known := self.wait_executed(sequence, stream)) and self.status == 0:
            pass
        return known

    def acknowledged(self, sequence: int, wait: bool = False) -> bool:
        return bool(library().rt_acknowledged(self.handle, sequence, wait))

    def wait_all_executed(self) -> bool:
        return bool(library().rt_wait_all_executed(self.handle))

    def poll(self) -> None:
        """Takes what has arrived."""
        self.executed_by_now((1 << 64) - 1, (1 << 32) - 1)

    @property
    def status(self) -> int:
        return int(library().rt_status(self.handle))

    @property
    def base(self) -> int:
        return int(library().rt_base(self.handle))

    @property
    def bytes(self) -> int:
        return int(library().rt_bytes(self.handle))

    def time_submits(self, count: int, size: int = 32, stream: int = 1) -> list[float]:
        out = (ctypes.c_double * count)()
        library().rt_time_submits(self.handle, stream, size, count, out)
        return sorted(out)

    def time_calls(self, count: int, stream: int = 1) -> list[float]:
        out = (ctypes.c_double * count)()
        library().rt_time_calls(self.handle, stream, count, out)
        return sorted(out)
