"""The service's end of the connection to its keeper.

Called by: the service (which finds or starts the keeper), shared memory (keep, drop), the supervisor (spawn, reap),
the Node service (watch). Thread-safe. Promises: what was kept when a call returned is available to the next service;
the keeper's end is reported once, and every call raises KeeperLost from then on; its events (on_...) arrive on a thread
that must not call the keeper.
"""

from __future__ import annotations

import functools
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from ..common.shared_memory import ShelfLost
from . import protocol
from .guard import complain, guarded, shown
from .socket_lock import SocketInUse, SocketLock, Taken

#: Time for the keeper to answer; it never waits for anything but the end of workers.
ANSWER_SECONDS = 30.0
#: Time for a keeper that is about to end to be gone.
ENDING_SECONDS = 10.0
#: Connections that it has not looked at yet.
WAITING = 64


class KeeperLost(ShelfLost):
    """The keeper has ended, or does not answer: workers and memory are lost."""


class Keeper:
    """Made by open_keeper."""

    def __init__(self, connection: socket.socket, path: str, versions: dict[str, Any], replace: bool) -> None:
        """Raises SocketInUse if the keeper cannot accept this service; the text gives the reason."""
        self._connection = protocol.roomy(connection)
        self._calling = threading.Lock()
        self._answers = threading.Condition()
        self._answer: dict[str, Any] | None = None
        self._number = 0  # of the newest request
        self._lost = self._closed = False
        self._output = 2 if _has_errors() else os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self.process: subprocess.Popen[bytes] | None = None  # where this service has started it
        self.on_lost: Callable[[], None] = lambda: None
        self.on_hand_over: Callable[[], None] = lambda: None
        self.on_ended: Callable[[str], None] = lambda program: None
        try:
            protocol.send(connection, {"versions": versions, "replace": replace})
            welcome, _ = protocol.receive(connection)
        except protocol.Closed:
            connection.close()
            raise KeeperLost("the keeper has just ended") from None
        if "refused" in welcome:
            connection.close()
            raise SocketInUse(_refusal(path, welcome))
        self.pid = int(welcome["pid"])
        self.kept: dict[str, int] = welcome["kept"]
        self.children: list[int] = welcome["children"]
        self._reader = threading.Thread(target=self._read, name="jitc-keeper", daemon=True)
        self._reader.start()

    @property
    def lost(self) -> bool:
        return self._lost

    def path(self, descriptor: int) -> str:
        """Returns the path at which any process of this user can open what is kept under this descriptor."""
        return f"/proc/{self.pid}/fd/{descriptor}"

    def keep(self, name: str, descriptor: int, token: str = "") -> str:
        """Makes the keeper hold the descriptor too, replacing another one of that name. Returns its path. Raises
        OSError.

        token: with it a training process may have the descriptor; empty: none may."""
        answer = self._call({"do": "keep", "name": name, "token": token}, [descriptor])
        if "error" in answer:
            raise OSError(answer["error"])
        return self.path(int(answer["descriptor"]))

    def drop(self, names: Iterable[str]) -> None:
        self._call({"do": "drop", "names": list(names)})

    @property
    def room(self) -> int:
        """Returns the most bytes of a request; this limits a worker's environment."""
        return protocol.room(self._connection)

    def spawn(self, command: list[str], environment: dict[str, str], ready: int) -> int:
        """Starts a worker process; its output goes where this process's errors go. Raises OSError."""
        request = {"do": "spawn", "command": command, "environment": environment}
        answer = self._call(request, [ready, self._output])
        if "error" in answer:
            raise OSError(answer["error"])
        return int(answer["pid"])

    def reap(self, pid: int) -> int | None:
        """Forgets a worker that has ended. Returns its exit status, negative for a signal; None if the keeper does not
        know it."""
        status: int | None = self._call({"do": "reap", "pid": pid}).get("status")
        return status

    def watch(self, program: str) -> int | None:
        """Makes the keeper report when the training process of this ticket ends; a keeper without a service waits for
        it.

        Returns its process, 0 if that cannot be seen from here; None: it has ended, or there never was one."""
        answer = self._call({"do": "watch", "program": program})
        return int(answer["pid"]) if answer["there"] else None

    def end(self) -> None:
        """Ends all workers and the keeper. Returns when they have ended."""
        try:
            self._closed = True
            self._call({"do": "end"})
        except KeeperLost:
            return
        self._reader.join(ENDING_SECONDS)
        self._connection.close()
        if self.process is not None:
            self.process.wait(ENDING_SECONDS)

    def leave(self) -> None:
        """Disconnects, and leaves everything to the next service."""
        self._closed = True
        self._connection.shutdown(socket.SHUT_RDWR)
        self._reader.join(ENDING_SECONDS)
        self._connection.close()

    def _call(self, request: dict[str, Any], descriptors: Iterable[int] = ()) -> dict[str, Any]:
        with self._calling, self._answers:
            if self._lost:
                raise KeeperLost("jitc-keeper has ended")
            self._answer = None
            self._number += 1
            try:
                protocol.send(self._connection, request | {"number": self._number}, descriptors)
            except protocol.Closed:
                raise KeeperLost("jitc-keeper has ended") from None
            self._answers.wait_for(lambda: self._answer is not None or self._lost, ANSWER_SECONDS)
            if self._answer is None:
                raise KeeperLost("jitc-keeper has ended" if self._lost else "jitc-keeper does not answer")
            return self._answer

    def _read(self) -> None:
        try:
            while True:
                document, _ = protocol.receive(self._connection)
                if "event" in document:
                    guarded("what was told had no effect", functools.partial(self._told, document))()
                    continue
                with self._answers:
                    if document.get("to") == self._number:  # else its caller has given up waiting
                        self._answer = document
                        self._answers.notify_all()
        except protocol.Closed:
            pass
        except Exception as error:  # as good as its end: nothing that it says can be relied on
            complain(f"its service does not understand it: {shown(error)}")
        with self._answers:
            self._lost = True
            self._answers.notify_all()
        if not self._closed:
            self.on_lost()

    def _told(self, document: dict[str, Any]) -> None:
        if document["event"] == "ended":
            self.on_ended(document["program"])
        else:
            self.on_hand_over()


def open_keeper(lock: SocketLock, versions: dict[str, Any], replace: bool) -> tuple[Keeper, bool]:
    """Returns the keeper of a socket, and whether there was one: it then holds what a previous service left.

    Claims the socket, or shares the claim of the keeper. Raises SocketInUse, WrongSocket.
    """
    deadline = time.monotonic() + ENDING_SECONDS
    while True:
        try:
            lock.claim()
        except Taken:
            try:
                keeper = _connect(lock, versions, replace)
            except (KeeperLost, OSError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)  # a keeper that is just beginning, or about to end
                continue
            try:
                lock.share()
            except BaseException:
                keeper.leave()
                raise
            return keeper, True
        try:
            return _launch(lock, versions), False
        except BaseException:
            lock.release()
            raise


def _connect(lock: SocketLock, versions: dict[str, Any], replace: bool) -> Keeper:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.connect(str(lock.directory / protocol.NAME))
    except OSError:
        connection.close()
        raise
    return Keeper(connection, lock.path, versions, replace)


def _launch(lock: SocketLock, versions: dict[str, Any]) -> Keeper:
    parent, folder = lock.descriptors()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs, _listener(lock, protocol.NAME) as listener, _listener(lock, protocol.PROGRAMS_NAME) as programs:
        passed = [parent, folder, listener.fileno(), programs.fileno(), theirs.fileno()]
        names = ("--parent", "--folder", "--listener", "--programs", "--connection")
        process = subprocess.Popen(
            [
                sys.executable, "-m", "jitc.proxy.keeper", "--socket", lock.path, "--directory", str(lock.directory),
                *(str(word) for pair in zip(names, passed, strict=True) for word in pair),
            ],
            pass_fds=passed, stdin=subprocess.DEVNULL, stdout=2 if _has_errors() else subprocess.DEVNULL, cwd="/",
            start_new_session=True, env=_environment(),
        )  # fmt: skip
    keeper = Keeper(ours, lock.path, versions, replace=False)
    keeper.process = process
    return keeper


def _listener(lock: SocketLock, name: str) -> socket.socket:
    """Creates a socket in the private folder, this user's from the moment it exists."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    before = os.umask(0o177)
    try:
        listener.bind(str(lock.directory / name))
        listener.listen(WAITING)
    except BaseException:
        listener.close()
        raise
    finally:
        os.umask(before)
    return listener


def _environment() -> dict[str, str]:
    """Returns the keeper's environment, in which nothing of jitc's is preloaded."""
    kept = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "NOTIFY_SOCKET")}
    return kept | {"PYTHONSAFEPATH": "1"}


def _has_errors() -> bool:
    try:
        os.fstat(2)
    except OSError:
        return False
    return True


def _refusal(path: str, welcome: dict[str, Any]) -> str:
    if welcome["refused"] == "version":
        return (
            f"another version of jitc serves {path} ({welcome['why']}); end its jobs and stop it first, "
            "or give another socket with --socket"
        )
    return f"a jitc-proxyd already serves {path}; stop it, take over with --replace, or give another one with --socket"
