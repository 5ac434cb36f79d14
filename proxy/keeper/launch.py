"""Finding the keeper of a socket, or starting one.

Called by: the service at start; `jitc-proxyd --respawn`, which asks how many sessions are left; `jitc run`, which ends
what it has started. Promises: there is one keeper for a socket, whoever comes first; a keeper that cannot accept this
service says why; one that is there already and does not answer is not waited for without end.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from . import protocol
from .backup import Backup
from .claim.socket_lock import SocketInUse, SocketLock, Taken
from .client import ENDING_SECONDS, Keeper, has_errors
from .line import KeeperLost
from .peer import peer_of

#: Variables by which a process is preloaded, or knows systemd.
_OF_SERVICE = ("LD_PRELOAD", "NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "FDSTORE")
#: Time for the service before to go on when the keeper has ended as this one was to replace it: that one has what the
#: keeper held, and waits a few seconds for this one (../commands/lifecycle/hand_over.py).
GOING_ON_SECONDS = 8.0
#: Time for a keeper to answer a question.
ASKED_SECONDS = 5.0
#: Time for a keeper that is there to answer a service, on a machine that does everything slowly; and one that is to
#: replace another: that one must stand by before, or is killed (process/server.py).
WELCOME_SECONDS, REPLACE_SECONDS = 30.0, 60.0
_MODULE = "jitc.proxy.keeper"
#: The keeper has killed that service, which has not ended: its process hangs in the kernel, perhaps in a driver.
_NO_ROOM = (
    "the jitc-proxyd that serves {} does not make room, and does not end when it is killed; jobs go on without it"
)


def open_keeper(
    lock: SocketLock, versions: dict[str, Any], replace: bool, backup: Backup | None = None,
    kept: dict[str, int] | None = None,
) -> tuple[Keeper, bool]:  # fmt: skip
    """Returns the keeper of a socket, and whether it holds what a previous service left: there was one, or kept is what
    one that has ended has held, by name.

    Claims the socket, or shares the claim of the keeper. Raises SocketInUse, WrongSocket, KeeperLost, OSError.
    """
    backup, kept = backup or Backup(), kept or {}
    deadline = time.monotonic() + ENDING_SECONDS
    while True:
        try:
            lock.claim(goes_on=bool(kept))
        except Taken:
            try:
                keeper = _connected(lock, versions, replace, backup)
            except (KeeperLost, OSError) as error:
                if time.monotonic() > deadline:
                    raise
                if replace and isinstance(error, KeeperLost):
                    time.sleep(GOING_ON_SECONDS)
                    deadline = time.monotonic() + ENDING_SECONDS
                else:
                    time.sleep(0.05)  # a keeper that is just beginning, or about to end
                continue
            try:
                lock.share()
            except BaseException:
                keeper.leave()
                raise
            return keeper, True
        try:
            keeper = _launch(lock, versions, backup)
            if kept:
                keeper.restore(kept)
            return keeper, bool(kept)
        except BaseException:
            (lock.close if kept else lock.release)()  # what is there may still be of use
            raise


def stand_by(descriptor: int, backup: Backup) -> Keeper | None:
    """Gives place to the service that is to replace this one, and waits. descriptor: of this one's connection.

    Returns None when that one serves, otherwise the keeper again: that one could not. Raises KeeperLost."""
    connection = protocol.roomy(socket.socket(fileno=descriptor))
    try:
        protocol.send(connection, {"do": "stand by", "number": 0})
        while True:
            document, given = protocol.receive(connection)
            protocol.close(given)  # an answer that nobody waits for any more
            if "kept" in document:
                return Keeper.connected(connection, document, backup)
            if document.get("event") == "replaced":
                break
    except protocol.Closed:
        connection.close()
        raise KeeperLost("the keeper has just ended") from None
    connection.close()
    return None


def sessions_kept(directory: Path) -> int | None:
    """Returns how many sessions the keeper of this private folder has; None: there is none, or it does not answer."""
    try:
        with _connection(directory) as connection:
            connection.settimeout(ASKED_SECONDS)
            protocol.send(connection, {"sessions": True})
            answer, _ = protocol.receive(connection)
            return int(answer["sessions"])
    except (OSError, ValueError, KeyError, protocol.Closed, protocol.Malformed, protocol.Busy):
        return None


def process_of_keeper(directory: Path) -> int:
    """Returns the process of the keeper of this private folder; 0: there is none, or it cannot be seen from here."""
    try:
        with _connection(directory) as connection:
            return _process(connection)
    except OSError:
        return 0


def _process(connection: socket.socket) -> int:
    """Returns the process of the keeper at the other end; 0: it cannot be seen from here. Of a keeper that an older
    jitc has started, the kernel names the process that has started it, which may be another one by now."""
    pid = peer_of(connection).pid
    with contextlib.suppress(OSError):
        return pid if _MODULE.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") else 0
    return 0


def _connection(directory: Path) -> socket.socket:
    """Raises OSError; BlockingIOError: the keeper does not accept connections, of which many wait."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        _limit_sending(connection, int(ASKED_SECONDS))
        connection.connect(str(directory / protocol.NAME))
        _limit_sending(connection, 0)
    except OSError:
        connection.close()
        raise
    return connection


def _limit_sending(connection: socket.socket, seconds: int) -> None:
    """Limits how long connecting and sending may take; 0: no limit. Not settimeout: connect would give up at once where
    many wait to be accepted."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", seconds, 0))


def _connected(lock: SocketLock, versions: dict[str, Any], replace: bool, backup: Backup) -> Keeper:
    try:
        connection = _connection(lock.directory)
    except BlockingIOError:
        raise SocketInUse(_silent(lock.path, 0)) from None
    seconds = REPLACE_SECONDS if replace else WELCOME_SECONDS
    return _welcomed(connection, lock.path, versions, replace=replace, backup=backup, seconds=seconds)


def _welcomed(
    connection: socket.socket, path: str, versions: dict[str, Any], *,
    replace: bool, backup: Backup, seconds: float | None = None,
) -> Keeper:  # fmt: skip
    """Raises SocketInUse if the keeper cannot accept this service, or does not answer in this time; the text gives the
    reason. Raises KeeperLost."""
    try:
        protocol.send(protocol.roomy(connection), {"versions": versions, "replace": replace})
        if seconds is not None and not _readable(connection, seconds):
            lives = replace and sessions_kept(Path(f"{path}.d")) is not None
            why = _NO_ROOM.format(path) if lives else _silent(path, _process(connection))
            connection.close()
            raise SocketInUse(why)
        welcome, _ = protocol.receive(connection)
    except protocol.Closed:
        connection.close()
        raise KeeperLost("the keeper has just ended") from None
    if "refused" in welcome:
        connection.close()
        raise SocketInUse(_refusal(path, welcome))
    return Keeper.connected(connection, welcome, backup)


def _launch(lock: SocketLock, versions: dict[str, Any], backup: Backup) -> Keeper:
    parent, folder = lock.descriptors()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs, _listener(lock, protocol.NAME) as listener, _listener(lock, protocol.PROGRAMS_NAME) as programs:
        passed = [parent, folder, listener.fileno(), programs.fileno(), theirs.fileno()]
        names = ("--parent", "--folder", "--listener", "--programs", "--connection")
        process = subprocess.Popen(
            [
                sys.executable, "-m", _MODULE, "--socket", lock.path, "--directory", str(lock.directory),
                *(str(word) for pair in zip(names, passed, strict=True) for word in pair),
                *(["--given"] * lock.given),
            ],
            pass_fds=passed, stdin=subprocess.DEVNULL, stdout=2 if has_errors() else subprocess.DEVNULL, cwd="/",
            start_new_session=True, env=_environment(),
        )  # fmt: skip
    keeper = _welcomed(ours, lock.path, versions, replace=False, backup=backup)
    keeper.process = process
    return keeper


def _listener(lock: SocketLock, name: str) -> socket.socket:
    """Creates a socket in the private folder, this user's from the moment it exists."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    before = os.umask(0o177)
    try:
        listener.bind(str(lock.directory / name))
        listener.listen(protocol.WAITING)
    except BaseException:
        listener.close()
        raise
    finally:
        os.umask(before)
    return listener


def _environment() -> dict[str, str]:
    """Returns the keeper's environment, in which nothing of jitc's is preloaded."""
    kept = {name: value for name, value in os.environ.items() if name not in _OF_SERVICE}
    return kept | {"PYTHONSAFEPATH": "1"}


def _readable(connection: socket.socket, seconds: float) -> bool:
    waiting = select.poll()
    waiting.register(connection, select.POLLIN)
    return bool(waiting.poll(seconds * 1000))


def _silent(path: str, pid: int) -> str:
    """pid: the keeper's process; 0: it cannot be seen from here."""
    if pid:
        return (
            f"jitc-keeper (process {pid}), which has {path}, does not answer; if it is stopped, continue it "
            f"(kill -CONT {pid}), otherwise kill it (kill -KILL {pid}): all workers end with it"
        )
    return (
        f"the jitc-keeper that has {path} does not answer, and its process cannot be seen from here; continue it, or "
        "its container, if that is stopped, otherwise kill it: all workers end with it"
    )


def _refusal(path: str, welcome: dict[str, Any]) -> str:
    if welcome["refused"] == "version":
        return (
            f"another version of jitc serves {path} ({welcome['why']}); end its jobs and stop it first, "
            "or give another socket with --socket"
        )
    return f"a jitc-proxyd already serves {path}; stop it, take over with --replace, or give another one with --socket"
