"""A command's own jitc-proxyd, which is restarted when it is killed.

Called by: `jitc run`. Promise: when the context is left, the service and all processes that it started have ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ..keeper.launch import process_of_keeper
from ..node.workers.processes import readable
from .options import CommandError

#: How long the service may take to be ready, and to end; and its keeper to end when it has been killed.
START_SECONDS, STOP_SECONDS, KEEPER_SECONDS = 120, 20, 5


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
        _await_ready(service)
        yield socket
    finally:
        _end(service, Path(f"{socket}.d"))
        service.stdout.close()


def die_with_parent(parent: int) -> None:
    """Makes the kernel send SIGTERM to this process when its parent ends, or at once if it has. Programs that it serves
    may continue: SIGTERM drains."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def _await_ready(service: subprocess.Popen[bytes]) -> None:
    """Raises CommandError."""
    assert service.stdout is not None
    if not readable(service.stdout.fileno(), START_SECONDS):
        raise CommandError(
            f"the private service is not ready after {START_SECONDS} s; `jitc doctor` looks for what keeps it waiting"
        )
    if not service.stdout.readline().startswith(b"jitc-proxyd ready"):
        raise CommandError("the private service did not start; its message is above")


def _end(service: subprocess.Popen[bytes], folder: Path) -> None:
    """Ends the service after the program: sessions of its stray children must not keep the service alive. folder: its
    private one."""
    for _ in range(2):
        with contextlib.suppress(ProcessLookupError):
            service.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            service.wait(2)
            return
    with contextlib.suppress(subprocess.TimeoutExpired):
        service.wait(STOP_SECONDS)
        return
    _kill(service, folder)


def _kill(service: subprocess.Popen[bytes], folder: Path) -> None:
    """Kills a service that does not end by itself, as one that is stopped does not, and its keeper after it."""
    keeper = _keeper(folder)
    os.killpg(service.pid, signal.SIGKILL)  # its session has nobody else: the keeper and the workers have their own
    service.wait()
    if keeper < 0:
        return
    try:
        if not _has_ended(keeper):  # a stray child of the program has a session
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(keeper, signal.SIGKILL)
            _has_ended(keeper)
    finally:
        os.close(keeper)


def _keeper(folder: Path) -> int:
    """Returns a descriptor of the keeper's process, whose number may be another one's when the service has ended; -1:
    there is none."""
    try:
        return os.pidfd_open(process_of_keeper(folder))
    except OSError:
        return -1


def _has_ended(process: int) -> bool:
    """Returns whether the process ends soon. process: a descriptor of it."""
    return readable(process, KEEPER_SECONDS)
