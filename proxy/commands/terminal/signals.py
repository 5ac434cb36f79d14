"""The end of a command that goes on until it is told to end, and its waits.

Called by: watch.py, follow.py. Promises: Ctrl-C and SIGTERM end the command at once while it waits, asks or writes, and
never in the middle of a picture; Ctrl-Z stops it as soon, between what leaves the terminal as it was and what comes
back to it; a closed pipe is noticed while the command waits; a new size of the terminal ends a wait early. Only the
main thread may use it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

_ENDING = (signal.SIGINT, signal.SIGTERM)


class Ended(BaseException):
    """The command ends; code is its exit status."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


class Signals:
    """The handlers, from entry to exit."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._number, self._open = 0, False
        self._stops = False  # Ctrl-Z came where the command could not stop
        self._woken, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._wake_before = -1
        self._leave: Callable[[], None] = lambda: None
        self._enter: Callable[[], None] = lambda: None

    def __enter__(self) -> Signals:
        handlers: dict[signal.Signals, Callable[[int, FrameType | None], None]] = dict.fromkeys(_ENDING, self._end)
        handlers[signal.SIGWINCH] = handlers[signal.SIGCONT] = lambda number, frame: None
        for number, handler in handlers.items():
            if signal.getsignal(number) is not signal.SIG_IGN:  # who starts it in the background may ignore Ctrl-C
                self._before[number] = signal.signal(number, handler)
        self._wake_before = signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._wake_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._woken)
        os.close(self._wake)

    def _end(self, number: int, _: FrameType | None) -> None:
        self._number = number
        if self._open:
            raise Ended(number)

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Lets a signal end what is done meanwhile. Raises Ended, also for a signal that came before."""
        try:
            self._open = True
            if self._number:
                raise Ended(self._number)
            if self._stops:
                self._stop()
            yield
        finally:
            self._open = False

    @contextlib.contextmanager
    def suspendable(self, leave: Callable[[], None], enter: Callable[[], None]) -> Iterator[None]:
        """Has Ctrl-Z call leave() before the command stops, and enter() when it continues."""
        if signal.getsignal(signal.SIGTSTP) is signal.SIG_IGN:  # a shell without jobs, to which nobody could return
            yield
            return
        self._leave, self._enter = leave, enter
        before = signal.signal(signal.SIGTSTP, self._suspend)
        try:
            yield
        finally:
            signal.signal(signal.SIGTSTP, before)

    def _suspend(self, *_: object) -> None:
        if self._open:
            self._stop()
        else:
            self._stops = True

    def _stop(self) -> None:
        """Stops this process until it is continued. Raises Ended for a signal that came meanwhile."""
        self._open = self._stops = False
        self._leave()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._suspend)
        self._enter()
        self._open = True
        if self._number:
            raise Ended(self._number)

    def write(self, write: Callable[[], None]) -> None:
        """Writes to standard output, where a reader may be slow. The rest of what a signal interrupts is dropped."""
        try:
            with self.interruptible():
                write()
                sys.stdout.flush()
        except Ended:
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), sys.stdout.fileno())
            raise

    def wait(self, seconds: float) -> None:
        """Waits so long, or until the terminal has another size. Raises BrokenPipeError if nobody reads any more."""
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        with contextlib.suppress(OSError, ValueError):  # standard output may have no descriptor
            poll.register(sys.stdout.fileno(), 0)
        deadline = time.monotonic() + seconds
        with self.interruptible():
            while (left := deadline - time.monotonic()) > 0:
                for descriptor, _ in poll.poll(left * 1000):
                    if descriptor != self._woken:
                        raise BrokenPipeError
                    if {signal.SIGWINCH, signal.SIGCONT} & set(os.read(self._woken, 512)):
                        return
