"""Namespaces, the thread that lives in them and the process that holds them.

A thread of this process makes namespaces and stays there; what is to happen in them is called in it. So a process that
starts there is a child of this one (nsenter would stand between, and pass on no signals), a socket that is made there
can be used by any thread, and no name or mount exists outside that could collide or be left behind. The namespaces end
with their holder, the first process of the PID namespace if there is one: the kernel kills all others with it.

Called by: namespaces.py, switch.py. Promise: a holder ends with the process that made it, however that ends, unless it
was made to stay.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..waiting import patient, readable
from .node import END_SECONDS

T = TypeVar("T")
#: Flags of clone(2).
FILES, MOUNT, UTS, PID, NETWORK = 0x200, 0x20000, 0x4000000, 0x20000000, 0x40000000
#: The signal is sent when the *thread* ends that started the process, which is the one that lives in the namespaces.
TIED = ("setpriv", "--pdeathsig", "KILL")
#: Ends a holder's script. A maker that has died before it says "go" leaves no holder, tied or not. An orphan that ends
#: leaves no zombie, since this parent ignores SIGCHLD.
_HOLD = """
echo ready
read -r go
exec env --ignore-signal=CHLD sleep infinity < /dev/null > /dev/null 2>&1
"""
_libc = ctypes.CDLL(None, use_errno=True)


class Holder(NamedTuple):
    """A process by number and start, in ticks since the machine's: a number may mean another process later."""

    pid: int
    start: int


def identity(pid: int) -> Holder | None:
    """Returns who has the number now; None: nobody, or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else Holder(pid, int(fields[19]))


def is_alive(one: Holder) -> bool:
    return identity(one.pid) == one


def end(holder: Holder) -> None:
    """Ends a holder of another process's, with all that it holds; waits until that is done."""
    try:
        pidfd = os.pidfd_open(holder.pid)
    except ProcessLookupError:
        return
    try:
        if is_alive(holder):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            _wait(pidfd, holder.pid)
    finally:
        os.close(pidfd)


class Spaces:
    """Namespaces with a thread in them, which `make` makes or `join` enters."""

    holder: Holder

    def __init__(self, enter: Callable[[], None]) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._held: subprocess.Popen[str] | None = None
        self._pidfd = -1
        try:
            self.call(enter)
        except BaseException:
            self._thread.shutdown()
            raise

    @classmethod
    def make(cls, kinds: int, setup: str, *arguments: str, tied: bool = True) -> Spaces:
        """Makes new ones, with a holder that first runs these lines of a shell. tied: it ends with this process."""
        one = cls(lambda: _checked(_libc.unshare(kinds)))
        try:
            one._hold(f"set -e\n{setup}\n{_HOLD}", arguments, tied)
        except BaseException:
            one.end()
            raise
        return one

    @classmethod
    def join(cls, holder: Holder, kinds: int) -> Spaces:
        """Enters those of a holder. Raises ProcessLookupError where it has ended."""
        pidfd = os.pidfd_open(holder.pid)
        try:
            if not is_alive(holder):
                raise ProcessLookupError(f"process {holder.pid} has ended")
            one = cls(lambda: _enter(pidfd, kinds))
        except BaseException:
            os.close(pidfd)
            raise
        one.holder, one._pidfd = holder, pidfd
        return one

    def call(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """Calls the function in the namespaces. What it starts must be no thread."""
        return self._thread.submit(function, *arguments, **options).result()

    def command(self, *words: str, input: str = "") -> str:
        """Runs a command of the toolkit's own in them. Returns what it says on standard output."""
        done = self.call(
            subprocess.run, words, input=input, capture_output=True, text=True, timeout=patient(30), check=False
        )
        if done.returncode:
            raise OSError(f"{' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}\n{input}")
        return str(done.stdout)

    def release(self) -> None:
        """Lets the holder begin to hold, when all else is set up."""
        if self._held and self._held.stdin:
            self._held.stdin.write("go\n")
            self._held.stdin.close()

    def kill(self) -> None:
        """Kills the holder. Its children of this process are still to be reaped: `end` waits until that is done."""
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def end(self) -> None:
        """Kills the holder and waits until it, and so every process in its PID namespace, has ended."""
        self.kill()
        if self._pidfd >= 0:
            _wait(self._pidfd, self.holder.pid)
            os.close(self._pidfd)
            self._pidfd = -1
        if self._held and self._held.stdin:
            self._held.stdin.close()
            self._held.wait()
        self._thread.shutdown()

    def _hold(self, script: str, arguments: tuple[str, ...], tied: bool) -> None:
        words = [*(TIED if tied else ()), "sh", "-c", script, "sh", *arguments]
        pipe = subprocess.PIPE
        self._held = self.call(
            subprocess.Popen,
            words,
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert self._held.stdout
        self._pidfd = os.pidfd_open(self._held.pid)
        with self._held.stdout:
            said = ""
            while not said.endswith("ready\n"):
                line = self._held.stdout.readline()
                if not line:
                    raise OSError(f"namespaces cannot be set up: {said.strip()}")
                said += line
        holder = identity(self._held.pid)
        assert holder
        self.holder = holder


def _wait(pidfd: int, pid: int) -> None:
    if not readable(pidfd, patient(END_SECONDS)):
        raise TimeoutError(f"process {pid} does not end")


def _checked(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"namespaces: {os.strerror(number)}")


def _enter(pidfd: int, kinds: int) -> None:
    """Enters namespaces with one thread of several: such a one may do that once it shares no folders with others."""
    _checked(_libc.unshare(FILES))
    _checked(_libc.setns(pidfd, kinds))
