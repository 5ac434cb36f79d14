"""Folders held by descriptor: checks who could change them, and which entries have a known form.

Called by: socket_lock.py. Promises: a check and the action after it concern the same folder, even if another one has
taken its name meanwhile; links of other users are not followed; only entries of the given forms are removed.
"""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import pwd
import re
import stat
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from . import foreign

#: Enough to look names up in a folder and to ask about it, also where it cannot be listed.
_HANDLE = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
_LISTED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_LINKS_MOST = 40

#: What an entry must be: a test of its mode, or a folder with entries of these forms. Keys are patterns of names.
Form = Callable[[int], bool] | Mapping[str, "Form"]
FILE, SOCKET = stat.S_ISREG, stat.S_ISSOCK
#: A folder of another user, who may have put anything there.
FOREIGN: Mapping[str, Form] = {}


class Unsafe(Exception):
    """Another user could change the folder or its path; the text names the place."""


def open_parent(path: Path) -> int:
    """Opens a folder in which only this user (or root) can replace entries. Raises Unsafe or OSError."""
    folder = _walk(path)
    try:
        status = os.fstat(folder)
        foreign = status.st_uid not in (os.geteuid(), 0)
        if foreign or (_others_write(status) and not status.st_mode & stat.S_ISVTX):
            raise Unsafe(f"others can write to {path}")
    except BaseException:
        os.close(folder)
        raise
    return folder


def open_own(name: str, parent: int) -> int:
    """Opens a folder of this user, to be listed. Raises Unsafe, whose text continues the folder's name, or OSError."""
    _check_own(os.stat(name, dir_fd=parent, follow_symlinks=False))  # a clearer reason than open gives
    folder = os.open(name, _LISTED, dir_fd=parent)
    try:
        _check_own(os.fstat(folder))
    except BaseException:
        os.close(folder)
        raise
    return folder


def check_private(folder: int) -> None:
    """Raises Unsafe, like open_own, for a folder that others can enter. All of them may look up what they know the name
    of: so a service that several users share leaves it."""
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    if mode & 0o077 not in (0, 0o011):
        raise Unsafe(f"is open to other users (mode {mode:04o})")


def is_still(name: str, parent: int, folder: int) -> bool:
    """Returns whether the name still leads to the folder that the descriptor has open."""
    try:
        return os.path.samestat(os.stat(name, dir_fd=parent, follow_symlinks=False), os.fstat(folder))
    except FileNotFoundError:
        return False


def strangers(folder: int, forms: Mapping[str, Form]) -> list[str]:
    """Returns entries, also of folders below, that have none of the forms."""
    found = []
    for name, form in _entries(folder, forms):
        if form is None:
            found.append(name)
        elif form is FOREIGN:
            continue
        elif isinstance(form, Mapping):
            with _opened(name, folder) as below:
                found += [f"{name}/{one}" for one in strangers(below, form)]
    return sorted(found)


def remove(folder: int, forms: Mapping[str, Form]) -> None:
    """Removes the entries that have one of the forms; a folder with others in it stays. Raises OSError."""
    for name, form in _entries(folder, forms):
        if form is None:
            continue
        if form is FOREIGN:
            foreign.remove(name, folder)
            continue
        if not isinstance(form, Mapping):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            continue
        with _opened(name, folder) as below:
            remove(below, form)
            empty = not os.listdir(below)
        if empty:
            os.rmdir(name, dir_fd=folder)


def _entries(folder: int, forms: Mapping[str, Form]) -> list[tuple[str, Form | None]]:
    found = []
    for name in os.listdir(folder):
        try:
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        except FileNotFoundError:
            continue
        found.append((name, _form(name, mode, forms)))
    return found


def _form(name: str, mode: int, forms: Mapping[str, Form]) -> Form | None:
    for pattern, form in forms.items():
        fits = stat.S_ISDIR if isinstance(form, Mapping) else form
        if re.fullmatch(pattern, name) and fits(mode):
            return form
    return None


@contextlib.contextmanager
def _opened(name: str, parent: int) -> Iterator[int]:
    folder = os.open(name, _LISTED, dir_fd=parent)
    try:
        yield folder
    finally:
        os.close(folder)


def _walk(path: Path) -> int:
    """Opens an absolute path step by step, so that each step can be checked."""
    names, links = deque(path.parts[1:]), 0
    folder = os.open("/", _HANDLE)
    try:
        while names:
            name = names.popleft()
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                links += 1
                target = _followed(name, folder, status, links)
                names.extendleft(reversed(target.parts))  # "/" among them leads back to the root
                continue
            below = os.open(name, _HANDLE, dir_fd=folder)
            os.close(folder)
            folder = below
            if names and _everybody_writes(os.fstat(folder)):
                raise Unsafe(f"everybody can write to {os.readlink(f'/proc/self/fd/{folder}')}")
    except BaseException:
        os.close(folder)
        raise
    return folder


def _followed(name: str, folder: int, status: os.stat_result, links: int) -> Path:
    """Returns the target of a link. Its owner could change it at any time."""
    if links > _LINKS_MOST:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if status.st_uid not in (os.geteuid(), 0, os.fstat(folder).st_uid):
        raise Unsafe(f"another user made the link {os.readlink(f'/proc/self/fd/{folder}')}/{name}")
    return Path(os.readlink(name, dir_fd=folder))


def _everybody_writes(status: os.stat_result) -> bool:
    return bool(status.st_mode & stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX


def _others_write(status: os.stat_result) -> bool:
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _our_group(status.st_gid)


def _our_group(group: int) -> bool:
    """Returns whether the group is the user's private one, to which many distributions grant writing by default."""
    try:
        user, members = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    alone = set(members.gr_mem) <= {user.pw_name}
    return group == user.pw_gid and members.gr_name == user.pw_name and alone


def _check_own(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise Unsafe("is a symbolic link")
    if not stat.S_ISDIR(status.st_mode):
        raise Unsafe("is no folder")
    if status.st_uid != os.geteuid():
        raise Unsafe(f"belongs to another user (uid {status.st_uid})")
