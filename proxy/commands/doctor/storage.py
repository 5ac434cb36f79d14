"""Checks of disks and folders: journals that are spilled, images of kernels, native parts, temporary files.

Called by: command.py. Promise: nothing stays in a folder that was tried.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from jitc.client_shim.native_parts import supply
from jitc.client_shim.native_parts.torch_build import TorchBuild, installed

from ...common import paths
from ...common.host_memory import size_text
from ...common.shared_memory import NoSpace, spill_file
from ...keeper.claim.socket_lock import PATH_LIMIT
from ..settings.resolve import given
from ..settings.setting import BY_NAME
from .check import Check, Context, Finding, bad, good, unknown

_PAGE = 4096


def _value(name: str) -> Any:
    """Returns an option's value, as environment or file give it if that is right, otherwise the default."""
    setting = BY_NAME[name]
    if text := given(setting):
        with contextlib.suppress(argparse.ArgumentTypeError):  # the check of variables says so
            return setting.parse(text)
    return setting.default


def spill(_: Context) -> Finding:
    folder = given(BY_NAME["spill-dir"]) or str(_value("spill-dir"))  # also one that is refused
    limit = int(_value("spill-limit"))
    return of_spill(folder, limit) if limit else good("no journal is spilled (--spill-limit 0)")


def of_spill(folder: str, limit: int) -> Finding:
    remedy = "choose another folder with jitc-proxyd --spill-dir, or a lower --spill-limit"
    try:
        file = spill_file(folder, _PAGE)
    except NoSpace as error:
        return bad(str(error), remedy)
    try:
        os.pwrite(file.fd, bytes(_PAGE), 0)
    except OSError as error:
        return bad(f"a file in {folder} cannot be written: {error.strerror}", remedy)
    finally:
        file.close()
    return _room(folder, limit, f"for journals in {folder}", "session", remedy)


def images(context: Context) -> Finding:
    folder = nearest(Path(context.socket or paths.client_socket()).parent)
    remedy = "choose another --socket, or a lower --images-limit"
    return _room(str(folder), int(_value("images-limit")), f"for kernels' images in {folder}", "service", remedy)


def _room(folder: str, limit: int, what: str, user: str, remedy: str) -> Finding:
    free = shutil.disk_usage(folder).free
    text = f"{size_text(free)} free {what}; a {user} uses up to {size_text(limit)}"
    if free < _PAGE:
        return bad(text, f"free some; {remedy}")
    return good(text) if free >= limit else unknown(f"{text} if a program needs it", remedy)


def cache(_: Context) -> Finding:
    """The user's folder of native parts must be no other user's to write."""
    remedy = "set JITC_CACHE to a folder of your own"
    try:
        store = supply.of_the_user()
        store.find(installed() or TorchBuild(Path(), "", "", False))
    except (supply.CannotBuild, supply.UnsafeStore) as error:
        return bad(str(error), remedy)
    place = nearest(store.folder)
    if not place.is_dir():
        return bad(f"{place} is no folder, so {store.folder} cannot be made", remedy)
    if not os.access(place, os.W_OK | os.X_OK):
        return bad(f"{store.folder} cannot be written to: no native part can be built there", remedy)
    return good(f"{store.folder} {'is' if place == store.folder else 'will be'} this user's alone")


def temporary(_: Context) -> Finding:
    """`jitc run` makes a folder for its service's socket there."""
    try:
        with tempfile.TemporaryDirectory(prefix="jitc-") as made:
            length = len(os.fsencode(made)) + len("/s")
    except OSError as error:
        return bad(f"no folder for temporary files: {error.strerror or error}", "set TMPDIR to one")
    text = f"{tempfile.gettempdir()}: the path of a socket in it has {length} bytes of at most {PATH_LIMIT}"
    return good(text) if length <= PATH_LIMIT else bad(text, "set TMPDIR to a shorter path for `jitc run`")


def nearest(path: Path) -> Path:
    """Returns the path, or the nearest one above that exists."""
    return next(one for one in (path, *path.parents) if os.path.lexists(one))


CHECKS = (Check("spill", spill), Check("images", images), Check("native parts", cache), Check("temporary", temporary))
