"""A jitc-proxyd of a command's own, which is started again when it is killed.

Called by: `jitc run`. Promises: when the context is left, the service and all that it has started are gone; a service
that ends by a signal while it is wanted is replaced at once, and programs go on; one that ends again and again is
not.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import IO

from .options import CommandError

#: How long the service may take to be ready, and to end.
START_SECONDS, STOP_SECONDS = 120, 20
#: So many ends within so many seconds are no accidents.
ENDS, WITHIN_SECONDS = 5, 60.0


@contextlib.contextmanager
def private_service(words: list[str], directory: str) -> Iterator[str]:
    """Starts a service with these options on a socket in the directory, and yields that socket."""
    socket = f"{directory}/s"
    service = _Service(
        [sys.executable, "-m", "jitc.proxy.commands.proxyd", "--socket", socket, "--die-with-parent", *words]
    )
    try:
        if not service.ready():
            raise CommandError("the private service did not start; its message is above")
        service.watch()
        yield socket
    finally:
        service.end()


class _Service:
    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._ending = False
        self._ends: list[float] = []
        self._process = self._start()
        # The thread that starts a service must live as long as that: the kernel signals the end of the *thread*.
        self._watcher = threading.Thread(target=self._watch, name="jitc-private", daemon=True)

    def ready(self) -> bool:
        import select

        out = _out(self._process)
        readable, _, _ = select.select([out], [], [], START_SECONDS)
        return bool(readable) and out.readline().startswith(b"jitc-proxyd ready")

    def watch(self) -> None:
        self._watcher.start()

    def end(self) -> None:
        """The program has ended: sessions of stray children of it must not keep the service alive."""
        with self._lock:
            self._ending = True
            process = self._process
        for _ in range(2):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(2)
                break
        else:
            _wait_or_kill(process)
        if self._watcher.is_alive():
            self._watcher.join(STOP_SECONDS)
        _out(process).close()

    def _start(self) -> subprocess.Popen[bytes]:
        kept = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "NOTIFY_SOCKET")}
        return subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True, env=kept
        )

    def _watch(self) -> None:
        while True:
            code = self._process.wait()
            with self._lock:
                if self._ending or code >= 0 or not self._may_start_again():
                    return
                _out(self._process).close()
                self._process = self._start()
            name = signal.Signals(-code).name
            print(f"jitc: the private service was ended by {name}; another one takes over", file=sys.stderr, flush=True)

    def _may_start_again(self) -> bool:
        now = time.monotonic()
        self._ends = [*(one for one in self._ends if now - one < WITHIN_SECONDS), now]
        if len(self._ends) < ENDS:
            return True
        print("jitc: the private service ends again and again; it is not started any more", file=sys.stderr, flush=True)
        return False


def _out(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdout is not None
    return process.stdout


def _wait_or_kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)
        return
    process.kill()
    process.wait()
