"""The registry's log: the facts that a service needs to continue where the previous one ended.

Called by: the registry and its parts (put, delete), a new service (entries). It is a map of keys to JSON values,
written by appending. It lies in memory that the keeper holds, so a write is complete when the call returns, even if the
service ends then. Promises: a record that was cut off by the end of its writer, and all after it, do not count; the log
stays within a few times the size of its content.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import threading
import zlib
from collections.abc import Callable
from typing import Any

_MAGIC = b"jitclog1"
_HEAD = struct.Struct("<II")
#: From this size on the log is written anew when most of it is out of date.
COMPACT_BYTES = 4 << 20

Keep = Callable[[int], None]


def _never() -> bool:
    return False


class Log:
    """One map. Thread-safe."""

    def __init__(self, descriptor: int, keep: Keep, closed: Callable[[], bool] = _never) -> None:
        """descriptor: its memory, which it owns from now on; keep: replaces it by another memory; closed: whether
        nothing is to be written any more. The keeper's end closes it: what a service without one does, such as giving
        its sessions up for want of a worker, must not reach the next service."""
        self._lock = threading.Lock()
        self._fd, self._keep, self._closed = descriptor, keep, closed
        self._values, self._end = _read(descriptor)
        self._compacted = self._end

    @classmethod
    def make(cls, keep: Keep = lambda descriptor: None, closed: Callable[[], bool] = _never) -> Log:
        """Creates an empty log."""
        descriptor = _written([])
        keep(descriptor)
        return cls(descriptor, keep, closed)

    def put(self, key: str, value: Any) -> None:
        """Stores a value; once this returns, the next service finds it. An equal value is not written again."""
        with self._lock:
            if self._values.get(key) != value or key not in self._values:
                self._append(key, value)
                # As the next service would read it, and so that later changes of the caller's do not count.
                self._values[key] = json.loads(json.dumps(value))

    def delete(self, key: str) -> None:
        with self._lock:
            if self._values.pop(key, None) is not None:
                self._append(key, None)

    def get(self, key: str) -> Any:
        """Returns None if there is no such key."""
        with self._lock:
            return self._values.get(key)

    def entries(self, prefix: str) -> dict[str, Any]:
        """Returns keys without the prefix, in the order in which they were first put."""
        with self._lock:
            return {key.removeprefix(prefix): value for key, value in self._values.items() if key.startswith(prefix)}

    def handed_on(self) -> int:
        """Returns another descriptor of its memory, for a service that begins anew."""
        with self._lock:
            return os.dup(self._fd)

    def close(self) -> None:
        with self._lock:
            fd, self._fd = self._fd, -1
            if fd >= 0:
                os.close(fd)

    def _append(self, key: str, value: Any) -> None:
        if self._fd < 0 or self._closed():
            return  # the service is ending
        record = _record(key, value)
        os.pwrite(self._fd, record, self._end)
        self._end += len(record)
        if self._end > COMPACT_BYTES and self._end > 4 * self._compacted:
            with contextlib.suppress(OSError):  # no descriptor for now: what is written stays, and is long
                self._compact()

    def _compact(self) -> None:
        fresh = _written([_record(key, value) for key, value in self._values.items()])
        try:
            self._keep(fresh)
        except BaseException:
            os.close(fresh)
            raise
        os.close(self._fd)
        self._fd, self._end = fresh, os.fstat(fresh).st_size
        self._compacted = self._end


def _record(key: str, value: Any) -> bytes:
    """Returns a record. A value of None deletes the key."""
    content = json.dumps([key, value]).encode()
    return _HEAD.pack(len(content), zlib.crc32(content)) + content


def _written(records: list[bytes]) -> int:
    descriptor = os.memfd_create("jitc-log", os.MFD_CLOEXEC)
    os.pwrite(descriptor, _MAGIC + b"".join(records), 0)
    return descriptor


def _read(descriptor: int) -> tuple[dict[str, Any], int]:
    """Returns the values, and the position of the next record. Raises ValueError for anything but a log."""
    data = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    if not data.startswith(_MAGIC):
        raise ValueError("this is no log of a registry")
    values: dict[str, Any] = {}
    at = len(_MAGIC)
    while at + _HEAD.size <= len(data):
        size, checksum = _HEAD.unpack_from(data, at)
        content = data[at + _HEAD.size : at + _HEAD.size + size]
        if not size or len(content) < size or zlib.crc32(content) != checksum:
            break
        key, value = json.loads(content)
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value
        at += _HEAD.size + size
    os.ftruncate(descriptor, at)  # what was cut off must not be taken for the tail of a later record
    return values, at
