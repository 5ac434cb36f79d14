"""The file of settings: TOML, an option's name and its value on each line.

Called by: resolve.py. Promise: whatever the file holds, its settings are returned as texts, or one line names the file,
the place and the remedy.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from typing import Any

from ..options import USAGE, CommandError, shown
from ..parser import meant
from .setting import SERVICE_SETTINGS, Setting, as_text

#: Bytes that a file of settings can have.
FILE_MOST = 1 << 20


def read(path: str) -> dict[str, str]:
    """Returns the file's settings, by their names. Raises CommandError."""
    known = {one.name: one for one in SERVICE_SETTINGS}
    found = {}
    for name, value in _parsed(path).items():
        if name not in known:
            raise CommandError(f"{path}: there is no option {shown(name)}{_meant(name, value, known)}", USAGE)
        found[name] = _text(path, known[name], value)
    return found


def _meant(name: str, value: Any, known: Iterable[str]) -> str:
    if isinstance(value, dict):
        return ", and no tables: options stand side by side, such as gpus = 2"
    return meant(name.replace("_", "-").lstrip("-").lower(), list(known))


def _text(path: str, setting: Setting, value: Any) -> str:
    """Returns the value as it would be written on the command line."""
    if isinstance(value, bool) and setting.flag:
        return "true" if value else "false"
    if setting.flag:
        raise CommandError(f"{path}: {setting.name} is true or false", USAGE)
    if isinstance(value, str):
        return _beside(path, value) if setting.path and value else value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return as_text(value)
    raise CommandError(f"{path}: {setting.name} is no text and no number; write it like {setting.name} = 2", USAGE)


def _beside(path: str, name: str) -> str:
    """Returns a path of the file: what does not begin at the root begins at the file's folder."""
    return os.path.join(os.path.dirname(os.path.abspath(path)), name)


def _parsed(path: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        parsed: dict[str, Any] = tomllib.loads(_content(path).decode())
        return parsed
    except UnicodeDecodeError:
        raise CommandError(f"{path} is no text in UTF-8", USAGE) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise CommandError(
            f"{path} is not TOML: {error}; write lines like gpus = 2 or spill-dir = '/tmp'", USAGE
        ) from None


def _content(path: str) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise CommandError(f"the configuration {path} cannot be read: {why}", USAGE) from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise CommandError(f"the configuration {path} is no file", USAGE)
        with open(handle, "rb", closefd=False) as file:
            content = file.read(FILE_MOST + 1)
    finally:
        os.close(handle)
    if len(content) > FILE_MOST:
        raise CommandError(f"the configuration {path} has more than {FILE_MOST} bytes: is it one?", USAGE)
    return content
