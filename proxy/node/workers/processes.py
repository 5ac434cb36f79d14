"""Processes known by descriptors that become readable when the process ends.

Called by: the watch, the supervisor, workers. Promises: a descriptor means one process, even if its number is given to
another process later; its owner closes it. It is a pidfd where the kernel has them. Where the kernel has none (old
kernels, and sandboxes that imitate one), it is the end of a pipe that a thread closes when /proc no longer shows the
process: an end is then noticed at most LOOK_SECONDS late.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import threading

from .birth import born, lives

LOOK_SECONDS = 0.02
_NO_PIDFD = (errno.ENOSYS, errno.EPERM, errno.EINVAL)
_never = threading.Event()


def open_process(pid: int) -> int:
    """Returns a descriptor of the process. Raises ProcessLookupError when there is none."""
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno not in _NO_PIDFD:
            raise
    return _open_watched(pid)


def send(descriptor: int, pid: int, number: signal.Signals) -> None:
    """Sends a signal to the process behind the descriptor: a worker that the keeper has not waited for."""
    with contextlib.suppress(ProcessLookupError):
        try:
            signal.pidfd_send_signal(descriptor, number)
        except OSError as error:
            if error.errno not in (*_NO_PIDFD, errno.EBADF):
                raise
            os.kill(pid, number)


def ended(descriptor: int) -> bool:
    """Returns whether the process has ended by now."""
    return ends_within(descriptor, 0)


def ends_within(descriptor: int, seconds: float) -> bool:
    """Waits for the process's end. Returns False if it is still running."""
    watch = select.poll()
    watch.register(descriptor, select.POLLIN)
    return bool(watch.poll(seconds * 1000))


def has_ended(pid: int) -> bool:
    """Returns whether the process has ended, or does not exist."""
    try:
        return not born(pid)
    except ProcessLookupError:
        return True


def end(pid: int, seconds: float) -> bool:
    """Kills a process whose number can mean no other one, and waits for its end. Returns False if it still runs."""
    try:
        descriptor = open_process(pid)
    except ProcessLookupError:
        return True
    try:
        send(descriptor, pid, signal.SIGKILL)
        return ends_within(descriptor, seconds)
    finally:
        os.close(descriptor)


def _open_watched(pid: int) -> int:
    when = born(pid)  # before the pipe: it raises
    read, write = os.pipe2(os.O_CLOEXEC)
    threading.Thread(target=_close_at_end, args=(pid, when, write), name="jitc-process", daemon=True).start()
    return read


def _close_at_end(pid: int, when: str, write: int) -> None:
    reader = select.poll()
    reader.register(write, 0)  # becomes ready when the other end is closed
    with contextlib.suppress(ProcessLookupError):
        while lives(pid, when) and not reader.poll(0):
            _never.wait(LOOK_SECONDS)
    os.close(write)
