"""A rig for the executor's tests: shared memory as the node service gives it, ops as a client packs them.

Called by: the tests of this folder, also from child processes that are killed.
"""

from __future__ import annotations

import ctypes
import fcntl
import functools
import os
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolkit.waiting import until

from jitc.ops import generated_names as ops
from jitc.proxy.common import executor as binding
from jitc.proxy.common.paths import executor_library

MIB = 1 << 20
#: ThreadSanitizer does not allow the usual place, nor much room.
BASE = int(os.environ.get("JITC_TEST_BASE", "200000000000"), 16)
RANGE = 1 << (38 if BASE >= 1 << 44 else 32)
PINNED = 0x3000_0000_0000 if BASE >= 1 << 44 else BASE + 10 * RANGE
#: Kinds of completions (completion.h).
RESULT, ACK, PROGRESS, FAULT, NOTICE, RESTORED = range(1, 7)
HEADER = struct.Struct("<IHHQQ")
COMPLETION = struct.Struct("<IHHIIQQ")


def library() -> Path:
    """JITC_TEST_EXECUTOR names another build, such as one with a sanitizer."""
    return Path(os.environ.get("JITC_TEST_EXECUTOR") or executor_library())


@functools.cache
def operand_count(name: str) -> int:
    form = ops.FORMATS[name]
    return len(struct.unpack(form, bytes(struct.calcsize(form))))


def pack(
    name: str, sequence: int, *operands: Any, payload: bytes = b"", stream: int = 0, phase: int = 0, flags: int = 0
) -> bytes:
    """One op's record; operands at the end that are left out are 0. flags: beside the phase."""
    operands += (0,) * (operand_count(name) - len(operands))
    body = struct.pack(ops.FORMATS[name], *operands) + payload
    body += bytes(-len(body) % 8)
    return HEADER.pack(HEADER.size + len(body), ops.IDS[name], phase << 1 | flags, stream, sequence) + body


def varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def batch(records: bytes, received: int | None = None) -> bytes:
    """An OpBatch message."""
    message = b"\x0a" + varint(len(records)) + records if records else b""
    return message + (b"\x11" + struct.pack("<Q", received) if received is not None else b"")


@dataclass(frozen=True)
class Completion:
    kind: int
    status: int
    stream: int
    sequence: int
    payload: bytes


def completions(message: bytes) -> Iterator[Completion]:
    """What a CompletionBatch holds."""
    if not message:
        return
    assert message[0] == 0x0A
    at, shift, size = 1, 0, 0
    while True:
        byte = message[at]
        at += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    assert at + size == len(message)
    while at < len(message):
        length, kind, padding, status, _, stream, sequence = COMPLETION.unpack_from(message, at)
        assert length % 8 == 0 and length >= COMPLETION.size + padding
        yield Completion(kind, status, stream, sequence, message[at + COMPLETION.size : at + length - padding])
        at += length


def sealed(size: int, seals: int = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW) -> int:
    """Pinned memory as the service makes it."""
    fd = os.memfd_create("test-pinned", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


class Shared:
    """Memory of one session (and a board), held by this process as the node service would."""

    def __init__(self, journal: int = 64 * MIB, spill: int = 0, snapshot: int = 256 * MIB, pinned: int = 0) -> None:
        lib = binding.load(library())
        self.sizes = {"journal": journal, "snapshot": snapshot, "spill": spill, "board": int(lib.jitc_board_bytes())}
        self.fds = {name: os.memfd_create(f"test-{name}") for name in self.sizes}
        for name, size in self.sizes.items():
            os.ftruncate(self.fds[name], size)
        if pinned:
            self.sizes["pinned"], self.fds["pinned"] = pinned, sealed(pinned)

    def path(self, name: str) -> str:
        return f"/proc/{os.getpid()}/fd/{self.fds[name]}"

    def used(self, name: str) -> int:
        return os.fstat(self.fds[name]).st_blocks * 512

    def close(self) -> None:
        for fd in self.fds.values():
            os.close(fd)

    def request(
        self, session: int = 1, slot: int = 0, rebuild: bool = False, epoch: int = 0, board: Shared | None = None
    ) -> dict[str, object]:
        return {
            "session": session, "token": "t", "slot": slot, "rebuild": rebuild, "epoch": epoch,
            "journal_path": self.path("journal"), "journal_bytes": self.sizes["journal"],
            "spill_path": self.path("spill") if self.sizes["spill"] else "", "spill_bytes": self.sizes["spill"],
            "snapshot_path": self.path("snapshot"), "snapshot_bytes": self.sizes["snapshot"],
            "board_path": (board or self).path("board"),
            "address_base": BASE + slot * RANGE, "address_bytes": RANGE,
            "pinned_path": self.path("pinned") if "pinned" in self.fds else "", "pinned_base": PINNED,
            "pinned_bytes": self.sizes.get("pinned", 0),
        }  # fmt: skip


class Control:
    """Notes what the executor tells the control plane; makes segments of communicators."""

    def __init__(self) -> None:
        self.faults: list[tuple[int, int, int, str, str]] = []
        self.fired: list[str] = []
        self.segments: dict[tuple[bytes, int], int] = {}
        self.lock = threading.Lock()

    def join(self, session: int, unique_id: bytes, ranks: int, rank: int, epoch: int) -> binding.Joined:
        size = int(binding.load(library()).jitc_segment_bytes(ranks))
        with self.lock:
            if (unique_id, epoch) not in self.segments:
                fd = self.segments[unique_id, epoch] = os.memfd_create("test-segment")
                os.ftruncate(fd, size)
            return binding.Joined(os.dup(self.segments[unique_id, epoch]), size, 0)

    def close(self) -> None:
        for fd in self.segments.values():
            os.close(fd)

    def fault(self, session: int, sequence: int, status: int, cause: str, message: str) -> None:
        self.faults.append((session, sequence, status, cause, message))

    def fault_fired(self, number: int, detail: str) -> None:
        self.fired.append(detail)

    def race(self, report: dict[str, Any]) -> None:
        raise RuntimeError(f"a race: {report}")


def make_executor(
    control: Control | None = None, poison: bool = True, memory_limit: int = 512 * MIB, ordinal: int = 0, gpu: int = 0
) -> binding.Executor:
    """JITC_TEST_DRIVER names a driver: then on the cuda device. JITC_TEST_NVRTC, JITC_TEST_NCCL: libraries for it.

    JITC_TEST_SHUFFLE is the seed of what comes late.
    """
    driver = os.environ.get("JITC_TEST_DRIVER", "")
    options: Any = {
        "device": "cuda" if driver else "software", "memory_limit": memory_limit, "threads": 1,
        "poison": poison, "ordinal": ordinal, "gpu": gpu,
        "options": {"shuffle": os.environ.get("JITC_TEST_SHUFFLE", "0")},
        "libraries": {one: os.environ.get(f"JITC_TEST_{one.upper()}", "") for one in ("driver", "nvrtc", "nccl")},
    }  # fmt: skip
    return binding.Executor(library(), options, control or Control())


@dataclass
class Client:
    """A training process: numbers its ops, keeps what is not acknowledged, collects results."""

    executor: binding.Executor
    session: int = 1
    base: int = BASE
    sequence: int = 0
    steps: int = 0
    boundaries: int = 0
    received: int = 0
    kept: dict[int, bytes] = field(default_factory=dict)
    results: dict[int, Completion] = field(default_factory=dict)
    seen: list[Completion] = field(default_factory=list)
    acked: int = 0
    queued: list[int] = field(default_factory=list)
    attached: bool = False

    def attach(self) -> None:
        self.executor.attach(self.session, self.received)
        self.attached = True
        self._next = self.executor.poller(self.session, 50)

    def reconnect(self, executor: binding.Executor) -> None:
        """As a client does after its worker was lost: attach, then send on from the ACK."""
        self.executor = executor
        self.seen.append(Completion(0, 0, 0, 0, b""))
        self.attach()
        mark = len(self.seen)
        self.wait(lambda: any(one.kind == ACK for one in self.seen[mark:]))
        acked = next(one.sequence for one in self.seen[mark:] if one.kind == ACK)
        self.queued = [one for one in sorted(self.kept) if one > acked]
        self.flush()

    def op(self, name: str, *operands: Any, **more: Any) -> int:
        """more: as pack() has it."""
        self.sequence += 1
        self.kept[self.sequence] = pack(name, self.sequence, *operands, **more)
        self.queued.append(self.sequence)
        return self.sequence

    def flush(self) -> None:
        queued, self.queued = self.queued, []
        self.executor.submit(self.session, batch(b"".join(self.kept[one] for one in queued), self.received))

    def call(self, name: str, *operands: Any, **more: Any) -> Completion:
        """An op that waits; its result."""
        sequence = self.op(name, *operands, **more)
        self.flush()
        self.wait(lambda: sequence in self.results)
        return self.results[sequence]

    def step_begin(self) -> int:
        self.steps += 1
        return self.op("step_begin", self.steps)

    def boundary(self, blocks: list[tuple[int, int, int]]) -> int:
        self.boundaries += 1
        payload = b"".join(struct.pack("<QQQ", *block) for block in blocks)
        return self.op("boundary", self.boundaries, len(blocks), payload=payload)

    def poll(self) -> bool:
        message = self._next()
        if message is None:
            self.attached = False
            return False
        for one in completions(message):
            self.seen.append(one)
            if one.kind == RESULT:
                assert one.sequence not in self.results, f"result of op {one.sequence} came twice"
                self.results[one.sequence] = one
                self.received = max(self.received, one.sequence)
            elif one.kind == ACK:
                self.acked = max(self.acked, one.sequence)
                for sequence in [kept for kept in self.kept if kept <= one.sequence]:
                    del self.kept[sequence]
        return bool(message)

    def wait(self, condition: Any, seconds: float = 30) -> None:
        wait_for(lambda: self.poll() is None or condition(), seconds)

    def drain(self) -> None:
        """Until everything sent has run."""
        self.call("device_synchronize")


def wait_for(condition: Any, seconds: float = 30) -> None:
    until(lambda: bool(condition()), seconds, "what the test waits for")


def stats(executor: binding.Executor, session: int = 1) -> dict[str, Any]:
    document = executor.command("Stats", {})
    found: dict[str, Any] = next(one for one in document["sessions"] if one["session"] == session)
    return found


def hash_of(data: bytes) -> bytes:
    """XXH3 128, canonical, by the library itself: what a module image is named by."""

    class Hash128(ctypes.Structure):
        _fields_ = (("low", ctypes.c_uint64), ("high", ctypes.c_uint64))

    function = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    function.restype, function.argtypes = Hash128, [ctypes.c_char_p, ctypes.c_size_t]
    found = function(data, len(data))
    return struct.pack(">QQ", found.high, found.low)
