"""A watch over keys of etcd: all entries first, then what a stream says has changed.

Called by: engine.py. Promises: the stream begins right after the revision of what was read, so nothing is missed; when
it ends, all is read again, on another member if this one has failed; once a minute all is read again in any case.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from ...clock import Clock
from ...engine import AnotherCluster, Refused, State, StoreError, Unreachable
from ...steps import RETRY_SECONDS, Steps
from .calls import Calls, Link
from .errors import Failure, Kind, judge, judge_reason
from .records import applied, watch_request

#: Until everything is read again.
STREAM_SECONDS = 60.0
#: How a stream ends at that time, or after read_again().
_TIME_TO_READ = (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
_ERRORS = {Kind.REFUSED: Refused, Kind.OTHER: AnotherCluster}


class EtcdWatch:
    """A watch with its thread."""

    def __init__(
        self,
        calls: Calls,
        read_all: Callable[[], tuple[State, int]],
        prefix: str,
        clock: Clock,
        changed: Callable[[State], None],
    ) -> None:
        """read_all: returns what is there, and the base of its revisions."""
        self._calls, self._read_all = calls, read_all
        self._prefix, self._changed = prefix, changed
        self._lock = threading.Lock()
        self._stream: Any = None
        self._last = State({}, 0)  # what was reported
        self._ended_early = False  # the stream before, without an answer
        self._steps = Steps(f"the watch of {prefix}", clock, self._step)
        self._clock = clock

    def start(self) -> None:
        self._steps.start()

    @property
    def running(self) -> bool:
        return not self._steps.stopped

    def halt(self) -> None:
        self._steps.halt()

    def close(self) -> None:
        self.halt()
        self.read_again()
        self._steps.stop()

    def read_again(self) -> None:
        """Ends the stream, so that everything is read again."""
        with self._lock:
            if self._stream is not None:
                self._stream.cancel()

    def _step(self) -> float:
        state, base = self._read_all()
        self._report(state)
        link = self._calls.current()
        try:
            self._follow(link, base)
        except Failure as failure:
            if not self._steps.stopped:
                raise self._judged(link, failure) from None
        return self._clock.now() + RETRY_SECONDS

    def _judged(self, link: Link, failure: Failure) -> StoreError:
        if failure.kind is Kind.LOGIN:
            link.token = None
        else:
            self._calls.leave(link)
        error = _ERRORS.get(failure.kind, Unreachable)(f"{link.address}: {failure}")
        # A store that is away is reported by the read that follows; where reads are answered, streams should be, too.
        error.reported, self._ended_early = not self._ended_early, True
        return error

    def _follow(self, link: Link, base: int) -> None:
        """Returns when it is time to read all again. Raises Failure."""
        request = _Request(watch_request(self._prefix, self._last.revision - base + 1))
        try:
            stream = link.stubs.watch.Watch(iter(request), timeout=STREAM_SECONDS, metadata=self._calls.metadata(link))
        except ValueError as error:  # the channel is closed
            raise Failure(Kind.UNSENT, str(error)) from None
        try:
            if self._opened(stream):
                self._read(stream, base)
        except grpc.RpcError as error:
            if error.code() not in _TIME_TO_READ:
                raise judge(error) from None
        finally:
            request.end()
            stream.cancel()

    def _opened(self, stream: Any) -> bool:
        """Returns whether the watch is still wanted; close() ends the stream then."""
        with self._lock:
            self._stream = stream
            return not self._steps.stopped

    def _read(self, stream: Any, base: int) -> None:
        """Returns when etcd does not have the changes any more."""
        for answer in stream:
            self._calls.check(answer.header)
            self._ended_early = False
            if answer.compact_revision:
                return
            if answer.canceled:
                raise judge_reason(answer.cancel_reason)
            if answer.events:
                revision = max(one.kv.mod_revision for one in answer.events)
                self._report(State(applied(self._last.entries, answer.events, base), base + revision, base))

    def _report(self, state: State) -> None:
        self._changed(state)
        self._last = state


class _Request:
    """A stream of requests that has one and then stays open, until end()."""

    def __init__(self, request: Any) -> None:
        self._request = request
        self._ended = threading.Event()

    def __iter__(self) -> Iterator[Any]:
        yield self._request
        self._ended.wait()

    def end(self) -> None:
        self._ended.set()
