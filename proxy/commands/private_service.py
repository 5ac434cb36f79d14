"""A command's own jitc-proxyd, which is restarted when it is killed.

Called by: `jitc run`. Promise: when the context is left, the service and all processes that it started have ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator

from .options import CommandError

#: How long the service may take to be ready, and to end.
START_SECONDS, STOP_SECONDS = 120, 20


@contextlib.contextmanager
def private_service(words: list[str], directory: str) -> Iterator[str]:
    """Starts a service with these options on a socket in the directory, and yields that socket."""
    socket = f"{directory}/s"
    command = [
        sys.executable, "-m", "jitc.proxy.commands.proxyd", "--respawn", "--socket", socket, "--die-with-parent",
        *words,
    ]  # fmt: skip
    kept = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "NOTIFY_SOCKET")}
    service = subprocess.Popen(
        command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True, env=kept
    )
    assert service.stdout is not None
    try:
        if not _ready(service):
            raise CommandError("the private service did not start; its message is above")
        yield socket
    finally:
        _end(service)
        service.stdout.close()


def die_with_parent(parent: int) -> None:
    """Makes the kernel send SIGTERM to this process when its parent ends, or at once if it has. Programs that it serves
    may continue: SIGTERM drains."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def _ready(service: subprocess.Popen[bytes]) -> bool:
    assert service.stdout is not None
    readable, _, _ = select.select([service.stdout], [], [], START_SECONDS)
    return bool(readable) and service.stdout.readline().startswith(b"jitc-proxyd ready")


def _end(service: subprocess.Popen[bytes]) -> None:
    """Ends the service after the program: sessions of its stray children must not keep the service alive."""
    for _ in range(2):
        with contextlib.suppress(ProcessLookupError):
            service.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            service.wait(2)
            return
    with contextlib.suppress(subprocess.TimeoutExpired):
        service.wait(STOP_SECONDS)
        return
    service.kill()
    service.wait()
