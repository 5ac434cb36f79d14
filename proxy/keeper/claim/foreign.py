"""Removes the folder of another user, who may have put anything there, and still do so.

Called by: folders.py. Promises: no link is followed, nothing outside of the folder is touched, and neither depth nor
number of its entries nor a process that adds others stops or delays a service for longer than SECONDS: what is left
then stays, under a name of its own, with a line.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
import time

#: Time for one folder.
SECONDS = 5.0
_LISTED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove(name: str, parent: int) -> None:
    """Removes the folder of this name, as far as it can be."""
    aside = f"{name.partition('.')[0]}.{secrets.token_hex(4)}"  # the user does not know the name
    try:
        os.rename(name, aside, src_dir_fd=parent, dst_dir_fd=parent)
        top = os.open(aside, _LISTED, dir_fd=parent)
        try:
            with contextlib.suppress(OSError):  # only a process that may change owners can keep the user out of it
                os.fchown(top, os.geteuid(), os.getegid())
            _empty(top, time.monotonic() + SECONDS)
        finally:
            os.close(top)
        os.rmdir(aside, dir_fd=parent)
    except FileNotFoundError:
        return  # another process was faster
    except OSError as error:
        why = f"{aside}, of another user, cannot be removed yet: {error.strerror}"
        print(f"jitc-proxyd: {why}", file=sys.stderr, flush=True)


def _empty(top: int, deadline: float) -> None:
    """Removes the entries. Folders are moved to the top and emptied there, so that their depth does not matter."""
    while entries := os.listdir(top):
        for name in entries:
            if time.monotonic() > deadline:
                return
            with contextlib.suppress(OSError):  # as much as can be
                _take_apart(name, top, deadline)


def _take_apart(name: str, top: int, deadline: float) -> None:
    if not stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=top)
        return
    folder = os.open(name, _LISTED, dir_fd=top)
    try:
        for inner in os.listdir(folder):
            if time.monotonic() > deadline:
                return
            with contextlib.suppress(OSError):
                if stat.S_ISDIR(os.stat(inner, dir_fd=folder, follow_symlinks=False).st_mode):
                    os.rename(inner, secrets.token_hex(16), src_dir_fd=folder, dst_dir_fd=top)
                else:
                    os.unlink(inner, dir_fd=folder)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)
