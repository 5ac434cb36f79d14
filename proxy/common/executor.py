"""libjitc_executor.so for Python: a typed ctypes binding of executor_api.h.

Called by: the worker (jitc.proxy.worker), which executes; the service, which reads the sizes of shared structures.
Promises: every call releases the GIL while it is in the library; a failure is an ExecutorError with the library's own
text; callbacks never raise into C.
"""

from __future__ import annotations

import ctypes
import json
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypedDict

from . import paths

if TYPE_CHECKING:
    from typing_extensions import NotRequired  # typing has it from Python 3.11 on

DETACHED = -2
STREAM_BUFFER = 4 << 20


class ExecutorError(Exception):
    """An error with the executor's own text about a call that it refused."""


class Options(TypedDict):
    """The options of an executor; a device uses those that concern it."""

    op_socket: NotRequired[str]
    """Where op streams come in; empty: through this binding."""
    device: str
    gpu: int
    memory_limit: int
    threads: int
    ordinal: int
    libraries: dict[str, str]
    images: str
    options: dict[str, str]
    """Of the service, those that workers are given (jitc.ops.options.generated_fields.OF_WORKERS), as texts."""


class Joined(NamedTuple):
    """The place where the ranks of a communicator meet."""

    descriptor: int  # of the segment, owned by the executor from now on; -1: it has been given up meanwhile
    size: int
    identity: int  # with which the segment begins


class JoinRefused(Exception):
    """A rank cannot join a communicator; the program gets the status (cudaError_t) and the text."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class JoinSuperseded(Exception):
    """The session is at another epoch by now, or about to end: the op is withdrawn without a result."""


class Control(Protocol):
    """The executor's requests to the control plane; called from its threads."""

    def join(self, session: int, unique_id: bytes, ranks: int, rank: int, epoch: int) -> Joined: ...
    def fault(self, session: int, sequence: int, status: int, cause: str, message: str) -> None: ...
    def fault_fired(self, number: int, detail: str) -> None: ...
    def race(self, report: dict[str, Any]) -> None: ...


_TEXT = 4096
_JOINED, _SUPERSEDED, _REFUSED = 0, 1, -1
_UNKNOWN = 999  # cudaErrorUnknown


class _Join(ctypes.Structure):
    """jitc_join."""

    _fields_ = [
        ("text", ctypes.c_char * _TEXT),
        ("segment_bytes", ctypes.c_uint64),
        ("identity", ctypes.c_uint64),
        ("status", ctypes.c_uint32),
        ("descriptor", ctypes.c_int32),
    ]


_JOIN = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint8), ctypes.c_uint32, ctypes.c_uint32,
    ctypes.c_uint64, ctypes.POINTER(_Join),
)  # fmt: skip
_FAULT = ctypes.CFUNCTYPE(
    None, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_char_p
)  # fmt: skip
_RACE = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
_FIRED = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_char_p)


class _ControlTable(ctypes.Structure):
    _fields_ = [("join", _JOIN), ("fault", _FAULT), ("fault_fired", _FIRED), ("race", _RACE)]


def load(path: Path) -> ctypes.CDLL:
    """Opens the library and declares its functions. Raises MissingLibrary."""
    lib = paths.opened(path)
    handle, text, u64 = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "jitc_executor_create": (handle, [text, ctypes.POINTER(_ControlTable)]),
        "jitc_executor_destroy": (None, [handle]),
        "jitc_executor_message": (text, []),
        "jitc_session_open": (ctypes.c_int, [handle, text]),
        "jitc_session_close": (ctypes.c_int, [handle, u64]),
        "jitc_session_attach": (ctypes.c_int64, [handle, u64, u64]),
        "jitc_session_submit": (ctypes.c_int, [handle, u64, ctypes.c_char_p, ctypes.c_size_t]),
        "jitc_session_poll": (ctypes.c_int64, [handle, u64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]),
        "jitc_session_detach": (ctypes.c_int, [handle, u64]),
        "jitc_executor_command": (ctypes.c_int, [handle, text, text, ctypes.POINTER(ctypes.c_void_p)]),
        "jitc_executor_release": (None, [ctypes.c_void_p]),
        "jitc_board_bytes": (u64, []),
        "jitc_board_clear": (ctypes.c_int, [text, ctypes.c_uint32]),
        "jitc_board_enter": (ctypes.c_int, [text, ctypes.c_uint32, u64, u64, ctypes.c_char_p, ctypes.c_size_t]),
        "jitc_board_begin": (ctypes.c_int, [text, ctypes.c_uint32, u64, ctypes.POINTER(u64)]),
        "jitc_board_leave": (ctypes.c_int, [text, ctypes.c_uint32]),
        "jitc_segment_bytes": (u64, [ctypes.c_uint32]),
        "jitc_segment_mark": (ctypes.c_int, [text, u64]),
        "jitc_segment_absent": (ctypes.c_int, [text, ctypes.c_uint32, text]),
        "jitc_segment_cut": (ctypes.c_int, [text, text]),
        "jitc_segment_left": (ctypes.c_int, [text, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint16)]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


class Executor:
    """One executor; lives as long as the worker process that serves a GPU."""

    def __init__(self, path: Path, options: Options, control: Control) -> None:
        self._lib = load(path)
        self._table = _callbacks(control)  # kept: the library holds the pointers
        handle = self._lib.jitc_executor_create(json.dumps(options).encode(), ctypes.byref(self._table))
        if not handle:
            raise ExecutorError(self.message())
        self._handle = ctypes.c_void_p(handle)

    def message(self) -> str:
        text: bytes | None = self._lib.jitc_executor_message()
        return (text or b"").decode(errors="replace")

    def close(self) -> None:
        handle, self._handle = self._handle, ctypes.c_void_p()
        if handle:
            self._lib.jitc_executor_destroy(handle)

    def open_session(self, request: dict[str, object]) -> None:
        self._check(self._lib.jitc_session_open(self._handle, json.dumps(request).encode()))

    def close_session(self, session: int) -> None:
        self._check(self._lib.jitc_session_close(self._handle, session))

    def attach(self, session: int, results_received: int) -> None:
        self._check(self._lib.jitc_session_attach(self._handle, session, results_received))

    def detach(self, session: int) -> None:
        self._lib.jitc_session_detach(self._handle, session)

    def submit(self, session: int, batch: bytes) -> None:
        if self._lib.jitc_session_submit(self._handle, session, batch, len(batch)) < 0:
            raise ExecutorError(self.message())

    def poller(self, session: int, timeout_ms: int) -> Callable[[], bytes | None]:
        """Returns a function that waits for the next completions: bytes, b"" if none came, None once detached.

        It uses one buffer again and again; the returned bytes are the only copy.
        """
        buffer = ctypes.create_string_buffer(STREAM_BUFFER)
        address, poll = ctypes.addressof(buffer), self._lib.jitc_session_poll
        handle = self._handle

        def next_batch(_keep: object = buffer) -> bytes | None:
            size: int = poll(handle, session, address, STREAM_BUFFER, timeout_ms)
            if size >= 0:
                return ctypes.string_at(address, size) if size else b""
            if size == DETACHED:
                return None
            raise ExecutorError(self.message())

        return next_batch

    def command(self, method: str, request: dict[str, object]) -> dict[str, Any]:
        """Makes a call of worker.proto, with JSON both ways."""
        reply = ctypes.c_void_p()
        code = self._lib.jitc_executor_command(
            self._handle, method.encode(), json.dumps(request).encode(), ctypes.byref(reply)
        )
        try:
            self._check(code)
            document = ctypes.string_at(reply).decode() if reply else ""
        finally:
            if reply:
                self._lib.jitc_executor_release(reply)
        return json.loads(document) if document else {}

    def _check(self, code: int) -> None:
        if code < 0:
            raise ExecutorError(self.message())


@dataclass(frozen=True)
class Shared:
    """The service's view of structures that workers share."""

    board_bytes: int
    #: Bytes of a communicator's segment, by number of ranks.
    segment_bytes: Callable[[int], int]
    #: Path of the board, slot: frees the slot.
    clear_slot: Callable[[str, int], None]
    #: Path of a new segment, identity: writes the identity to its begin.
    mark_segment: Callable[[str, int], None]
    #: Path of a segment, rank, why: marks the rank as one that takes no further part.
    mark_absent: Callable[[str, int, str], None]
    #: Path of a segment, why: has ranks here fail that wait for ranks of other nodes.
    cut_segment: Callable[[str, str], None]
    #: Path of a segment, number of ranks: how often each has let go of it, modulo 65,536.
    ranks_left: Callable[[str, int], list[int]]


def shared(path: Path) -> Shared:
    """Returns functions of the library at path; those that change something raise ExecutorError."""
    lib = load(path)

    def check(code: int) -> None:
        if code < 0:
            raise ExecutorError((lib.jitc_executor_message() or b"").decode(errors="replace"))

    def ranks_left(segment: str, ranks: int) -> list[int]:
        counts = (ctypes.c_uint16 * ranks)()
        check(lib.jitc_segment_left(segment.encode(), ranks, counts))
        return list(counts)

    return Shared(
        board_bytes=int(lib.jitc_board_bytes()),
        segment_bytes=lambda ranks: int(lib.jitc_segment_bytes(ranks)),
        clear_slot=lambda board, slot: check(lib.jitc_board_clear(board.encode(), slot)),
        mark_segment=lambda segment, identity: check(lib.jitc_segment_mark(segment.encode(), identity)),
        mark_absent=lambda segment, rank, why: check(lib.jitc_segment_absent(segment.encode(), rank, why.encode())),
        cut_segment=lambda segment, why: check(lib.jitc_segment_cut(segment.encode(), why.encode())),
        ranks_left=ranks_left,
    )


def _callbacks(control: Control) -> _ControlTable:
    def join(  # noqa: PLR0917 - the C signature
        session: int, unique_id: Any, ranks: int, rank: int, epoch: int, answer: Any
    ) -> int:
        try:
            joined = control.join(session, bytes(unique_id[:128]), ranks, rank, epoch)
        except JoinSuperseded:
            return _SUPERSEDED
        except JoinRefused as refusal:
            answer[0].status, answer[0].text = refusal.status, _text(str(refusal))
            return _REFUSED
        except Exception as error:
            _report()
            answer[0].status, answer[0].text = _UNKNOWN, _text(str(error))
            return _REFUSED
        answer[0].segment_bytes, answer[0].identity = joined.size, joined.identity
        answer[0].descriptor = joined.descriptor
        return _JOINED

    def fault(session: int, sequence: int, status: int, cause: bytes, message: bytes) -> None:
        try:
            control.fault(session, sequence, status, cause.decode(), message.decode(errors="replace"))
        except Exception:
            _report()

    def fired(number: int, detail: bytes) -> None:
        try:
            control.fault_fired(number, detail.decode(errors="replace"))
        except Exception:
            _report()

    def race(report: bytes) -> None:
        try:
            control.race(json.loads(report))
        except Exception:
            _report()

    return _ControlTable(_JOIN(join), _FAULT(fault), _FIRED(fired), _RACE(race))


def _text(text: str) -> bytes:
    """Returns the text, truncated to the room of an answer."""
    return text.encode()[: _TEXT - 1]


def _report() -> None:
    """Prints an exception to the service's log, since it must not reach C."""
    traceback.print_exc(file=sys.stderr)
