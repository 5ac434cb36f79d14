"""The service's socket and private directory: made for this user only, taken over from the dead.

Called by: jitc-proxyd at start and end. Promises: never two services on one socket; a socket file
that a killed service left is replaced, a living one is an error that names it; nothing stays behind.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import stat
from pathlib import Path

#: sockaddr_un holds 108 bytes with the final zero; the workers' sockets are longer than ours.
PATH_LIMIT = 85


class SocketInUse(Exception):
    """The socket cannot be ours; the text says what to do."""


class Place:
    """The claim on a socket path, held by a lock on the private directory (it ends with the process)."""

    def __init__(self, path: str, directory: Path) -> None:
        self.path, self.directory = path, directory
        self._lock = -1

    def claim(self) -> None:
        if len(os.fsencode(self.path)) > PATH_LIMIT:
            raise SocketInUse(f"the socket path is longer than {PATH_LIMIT} bytes: {self.path}; choose a shorter one")
        _make_parent(Path(self.path).parent)
        while not self._locked():
            pass  # the service before this one was just ending, and took its directory away
        self._clear()

    def _locked(self) -> bool:
        """False when the lock is on a directory that is no longer there. Raises SocketInUse."""
        self.directory.mkdir(mode=0o700, exist_ok=True)
        try:
            lock = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise SocketInUse(
                f"a jitc-proxyd already serves {self.path}; stop it or give another one with --socket"
            ) from None
        if not _is(self.directory, lock):
            os.close(lock)
            return False
        self._lock = lock
        return True

    def _clear(self) -> None:
        """Takes away what a killed service left; refuses anything that is not a dead socket."""
        for left in self.directory.iterdir():
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left)
            else:
                left.unlink()
        try:
            mode = os.lstat(self.path).st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISSOCK(mode):
            self.release(keep_socket=True)
            raise SocketInUse(f"{self.path} exists and is no socket; remove it or give another one with --socket")
        if alive(self.path):
            self.release(keep_socket=True)
            raise SocketInUse(f"something else listens on {self.path}; give another one with --socket")
        os.unlink(self.path)

    def release(self, keep_socket: bool = False) -> None:
        if self._lock < 0:
            return
        if not keep_socket:
            Path(self.path).unlink(missing_ok=True)
        shutil.rmtree(self.directory, ignore_errors=True)
        os.close(self._lock)
        self._lock = -1


def _is(path: Path, descriptor: int) -> bool:
    """Whether the path still names what the descriptor has open."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _make_parent(parent: Path) -> None:
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SocketInUse(f"cannot make {parent}: {error.strerror}; give another place with --socket") from None
    owner = parent.stat()
    foreign = owner.st_uid not in (os.geteuid(), 0)
    if foreign or (owner.st_mode & stat.S_IWOTH and not owner.st_mode & stat.S_ISVTX):
        raise SocketInUse(f"others can write to {parent}; give a directory of your own with --socket")


def alive(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except OSError:
            return False
        return True
