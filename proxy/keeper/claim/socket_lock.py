"""The service's socket and its private folder: claimed for this user, taken over from a dead service.

Called by: jitc-proxyd at start; the keeper, which has the claim as long as it lives, at its end.
Promises: there are never two keepers on one socket, and a keeper has one service. Nothing is touched unless the
socket's path is free or has a dead socket of this user. The folder beside it was created and marked by a jitc-proxyd of
this user, and no other user can enter it; only entries that a jitc-proxyd creates are removed from it. Service and
keeper leave nothing behind.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
import sys
import time
from pathlib import Path

from .. import protocol
from . import folders
from .folders import FILE, SOCKET, Form, Unsafe
from .listening import dead

#: sockaddr_un holds 108 bytes with the final zero; the workers' sockets are longer than ours.
PATH_LIMIT = 85
#: Bytes of the name of another user's folder, by which that user's workers' sockets are longer still.
USER_BYTES = len("/u4294967294")

#: A folder cannot be renamed to a name under which there is one with something in it, or a file.
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)

MARKER = ".jitc-proxyd"
MARKER_TEXT = b"private folder of a jitc-proxyd, made and removed by it\n"

_HASH = "[0-9a-f]{32}"
#: What a service, its workers and its bridge make in the folder beside the marker: sockets, and images of modules.
_SERVICES: dict[str, Form] = {"keeper|programs|s-[0-9a-f]{8}": SOCKET}
OURS: dict[str, Form] = _SERVICES | {
    "w[0-9]+(-ops)?|b[0-9]+": SOCKET,
    "images": {_HASH: FILE, "held": {"[0-9]+": {rf"{_HASH}(-[0-9]+\.part|\.same)?": FILE}}},
    r"u[0-9]+(\.[0-9a-f]{8})?": folders.FOREIGN,
}


#: Time for a process that is ending to let go the claim: its connections are closed before.
LETTING_GO_SECONDS = 1.0


class SocketInUse(Exception):
    """This service cannot have the socket; the text names the remedy."""


class Taken(SocketInUse):
    """A keeper has the socket, possibly without a service."""


class WrongSocket(SocketInUse):
    """No service could have a socket there; the text names a possible place."""


class SocketLock:
    """The claim on a socket path: a lock on the private folder, which ends with the processes that have it open."""

    def __init__(self, path: str, directory: Path, given: bool = False, held: tuple[int, int] | None = None) -> None:
        """given: somebody else has made the socket, and keeps it (systemd). held: the folders' descriptors of a claim
        that this process has already (hold); they stay the caller's."""
        self.path, self.directory, self.given, self._held = path, directory, given, held
        self._name, self._socket = directory.name, Path(path).name
        self._parent = self._folder = -1
        self._made_parent = False

    def let_pass(self, others: bool) -> str:
        """Lets other users look names up in the private folder, or not: they need the socket of training processes.
        Returns why that is of no use to them; empty: nothing is in their way."""
        os.fchmod(self._folder, 0o711 if others else 0o700)
        os.chmod(protocol.PROGRAMS_NAME, 0o666 if others else 0o600, dir_fd=self._folder)
        if others and self._made_parent:
            os.chmod(f"/proc/self/fd/{self._parent}", 0o755)
        if others and not os.stat(f"/proc/self/fd/{self._parent}").st_mode & stat.S_IXOTH:
            parent = Path(self.path).parent
            return f"other users cannot enter {parent}, so none of their programs is served; chmod o+x {parent}"
        return ""

    def claim(self, goes_on: bool = False) -> None:
        """Claims the path and makes the folder, or clears that of a dead service. goes_on: of one whose programs go on;
        then what belongs to sessions stays."""
        if len(os.fsencode(self.path)) > PATH_LIMIT:
            raise WrongSocket(f"the socket path is longer than {PATH_LIMIT} bytes: {self.path}; choose a shorter one")
        self._made_parent = not Path(self.path).parent.exists()
        if self._held is not None:
            self._parent, self._folder = (os.dup(one) for one in self._held)
        else:
            self._parent = _open_parent(Path(self.path).parent)
        try:
            self._look()
            while self._folder < 0 and not self._try_lock():
                pass  # the service before this one was just ending, and removed its folder
            self._clear(_SERVICES if goes_on else OURS)
        except OSError as error:
            self._let_go()
            raise WrongSocket(
                f"cannot use {self.directory}: {error.strerror}; give another place with --socket"
            ) from None
        except BaseException:
            self._let_go()
            raise

    def share(self) -> None:
        """Takes over from another service, whose keeper has the claim. Its socket stays until this one's replaces it: a
        service that is stopped may still listen."""
        self._parent = _open_parent(Path(self.path).parent)
        try:
            self._folder = folders.open_own(self._name, self._parent)
            self._look()
        except (OSError, Unsafe) as error:
            self._let_go()
            raise SocketInUse(f"{self.directory} cannot be taken over: {error}") from None

    def adopt(self, parent: int, folder: int) -> None:
        """Shares the claim of another process, whose descriptors these are."""
        self._parent, self._folder = parent, folder

    def descriptors(self) -> tuple[int, int]:
        """Returns the folder above, and the private one; for adopt()."""
        return self._parent, self._folder

    def hold(self) -> tuple[int, int] | None:
        """Makes the claim this process's, whose keeper has ended, so that nobody else has it meanwhile. Returns the
        folders' descriptors; None: another one has the claim, or has removed the folder."""
        deadline = time.monotonic() + LETTING_GO_SECONDS
        while self._folder >= 0 and not self._ours() and time.monotonic() < deadline:
            time.sleep(0.01)
        if self._folder < 0 or not self._ours() or not folders.is_still(self._name, self._parent, self._folder):
            return None
        return self.descriptors()

    def close(self) -> None:
        """Leaves the claim to the other process that has it."""
        self._let_go()

    def release(self) -> None:
        """Removes the socket and the folder. Foreign entries stay, with the folder, and are named. Does nothing if
        another process has the claim by now."""
        if self._folder < 0:
            return
        try:
            if not self._ours():
                return self._let_go()
            with contextlib.suppress(SocketInUse, FileNotFoundError):
                if not self.given and folders.is_still(self._name, self._parent, self._folder) and self._look():
                    os.unlink(self._socket, dir_fd=self._parent)
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                self._remove()
        except OSError as error:
            print(f"jitc-proxyd: {self.directory} stays: {error.strerror}", file=sys.stderr)
        self._let_go()

    # -- parts ------------------------------------------------------------------------------------

    def _look(self) -> bool:
        """Returns whether there is a socket of this user. Raises for anything else of that name."""
        try:
            status = os.stat(self._socket, dir_fd=self._parent, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if not stat.S_ISSOCK(status.st_mode):
            raise WrongSocket(f"{self.path} exists and is no socket; remove it or give another one with --socket")
        if status.st_uid != os.geteuid():
            raise SocketInUse(f"{self.path} belongs to another user; give another one with --socket")
        return True

    def _look_for_listeners(self) -> bool:
        """Does the same if no jitc-proxyd serves. Raises for a socket that another process listens on."""
        there = self._look()
        if there and not self.given and not dead(self.path):
            raise SocketInUse(f"something else listens on {self.path}; give another one with --socket")
        return there

    def _try_lock(self) -> bool:
        """Takes the lock. Returns False if the folder was removed meanwhile. Raises SocketInUse."""
        try:
            folder = folders.open_own(self._name, self._parent)
        except FileNotFoundError:
            return self._make()
        except Unsafe as error:
            raise self._unfit(str(error)) from None
        try:
            self._lock(folder)
            if not folders.is_still(self._name, self._parent, folder):
                os.close(folder)
                return False
            if not _marked(folder):
                raise self._unfit("was not made by a jitc-proxyd")
            folders.check_private(folder)
        except Unsafe as error:
            os.close(folder)
            raise self._unfit(str(error)) from None
        except BaseException:
            os.close(folder)
            raise
        self._folder = folder
        return True

    def _make(self) -> bool:
        """Creates the folder complete, marked and locked, so that no other service sees a part. Returns False if
        another service was faster."""
        self._look_for_listeners()
        name = f".{self._name}.{secrets.token_hex(4)}"
        os.mkdir(name, 0o700, dir_fd=self._parent)
        folder = -1
        try:
            folder = folders.open_own(name, self._parent)
            _mark(folder)
            self._lock(folder)
            os.rename(name, self._name, src_dir_fd=self._parent, dst_dir_fd=self._parent)
        except BaseException as error:
            self._unmake(name, folder)
            if isinstance(error, OSError) and error.errno in _TAKEN:
                return False
            raise
        self._folder = folder
        return True

    def _unmake(self, name: str, folder: int) -> None:
        if folder >= 0:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(MARKER, dir_fd=folder)
            os.close(folder)
        os.rmdir(name, dir_fd=self._parent)

    def _lock(self, folder: int) -> None:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Taken(
                f"a jitc-proxyd already serves {self.path}; stop it or give another one with --socket"
            ) from None

    def _ours(self) -> bool:
        try:
            self._lock(self._folder)
        except Taken:
            return False
        return True

    def _clear(self, dead: dict[str, Form]) -> None:
        """Removes what a killed service left, once it is certain that all of it is this user's and dead."""
        strangers = folders.strangers(self._folder, OURS | {MARKER: FILE})
        if strangers:
            raise SocketInUse(
                f"{self.directory} holds {strangers[0]!r}, which no jitc-proxyd made; "
                "move it away or give another socket with --socket"
            )
        there = self._look_for_listeners()
        folders.remove(self._folder, dead)
        if there and not self.given:
            os.unlink(self._socket, dir_fd=self._parent)

    def _remove(self) -> None:
        """Removes the folder, and its marker last: the next service recognises it by the marker."""
        folders.remove(self._folder, OURS)
        left = sorted(name for name in os.listdir(self._folder) if name != MARKER)
        if left:
            print(f"jitc-proxyd: {self.directory} stays: {left[0]!r} in it is not ours", file=sys.stderr)
            return
        os.unlink(MARKER, dir_fd=self._folder)
        if folders.is_still(self._name, self._parent, self._folder):
            os.rmdir(self._name, dir_fd=self._parent)

    def _let_go(self) -> None:
        for descriptor in (self._folder, self._parent):
            if descriptor >= 0:
                os.close(descriptor)
        self._folder = self._parent = -1

    def _unfit(self, why: str) -> SocketInUse:
        return SocketInUse(f"{self.directory} {why}; remove or rename it, or give another socket with --socket")


def _open_parent(parent: Path) -> int:
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folders.open_parent(parent)
    except FileExistsError:
        raise WrongSocket(f"{parent} is no folder; give another place with --socket") from None
    except OSError as error:
        raise WrongSocket(f"cannot use {parent}: {error.strerror}; give another place with --socket") from None
    except Unsafe as error:
        raise WrongSocket(f"{error}; give a socket in a folder of your own with --socket") from None


def _mark(folder: int) -> None:
    marker = os.open(MARKER, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    with open(marker, "wb") as out:
        out.write(MARKER_TEXT)


def _marked(folder: int) -> bool:
    try:
        marker = os.open(MARKER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        return False
    with open(marker, "rb") as text:
        ours = os.fstat(marker)
        return stat.S_ISREG(ours.st_mode) and ours.st_uid == os.geteuid() and text.read(256) == MARKER_TEXT
