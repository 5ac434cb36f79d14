"""Which value a setting has, and where it comes from: the command line, else the environment, else the file, else the
default.

Called by: proxyd.py, run.py, ../doctor. Promise: after `resolve` each setting has its value in the arguments, parsed
and allowed, as if it had been given on the command line; a wrong one is one line that names the place.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..options import USAGE, CommandError
from .file import read
from .setting import Setting

COMMAND_LINE, ENVIRONMENT, DEFAULT = "command line", "environment", "default"
#: The variable that names the file.
CONFIG = "JITC_CONFIG"


@dataclass(frozen=True)
class Origin:
    """Where a value comes from."""

    #: COMMAND_LINE, ENVIRONMENT, DEFAULT, or the path of a file.
    place: str
    #: The setting, as that place calls it.
    name: str
    #: Places whose value it overrides.
    over: tuple[str, ...] = ()


def resolve(
    arguments: argparse.Namespace, settings: Iterable[Setting], environment: Mapping[str, str] | None = None
) -> None:
    """Gives the arguments the value of each setting, and `origins`. An argument that is None was not given. Raises
    CommandError."""
    environment = os.environ if environment is None else environment
    if getattr(arguments, "resolved", False):
        environment, path = {}, None
    else:
        path = arguments.config or environment.get(CONFIG)
    found = read(path) if path else {}
    arguments.origins = {one.name: _resolved(arguments, one, environment, path or "", found) for one in settings}


def _resolved(
    arguments: argparse.Namespace, setting: Setting, environment: Mapping[str, str], path: str, file: Mapping[str, str]
) -> Origin:
    given = getattr(arguments, setting.attribute) is not None
    texts = [(ENVIRONMENT, setting.variable, environment.get(setting.variable) or None),
             (path, setting.name, file.get(setting.name))]  # fmt: skip
    places = [(place, name, text) for place, name, text in texts if text is not None]
    values = [parsed(setting, *one) for one in places]  # also what is overridden has to be right
    if given:
        return Origin(COMMAND_LINE, f"--{setting.name}", tuple(place for place, _, _ in places))
    setattr(arguments, setting.attribute, values[0] if values else setting.default)
    if not values:
        return Origin(DEFAULT, f"--{setting.name}")
    place, name, _ = places[0]
    return Origin(place, name, tuple(place for place, _, _ in places[1:]))


def parsed(setting: Setting, place: str, name: str, text: str) -> Any:
    """Returns the value of a text. place: ENVIRONMENT, or the path of a file; name: the setting there. Raises
    CommandError."""
    try:
        return setting.parse(text)
    except argparse.ArgumentTypeError as error:
        raise CommandError(f"{name if place == ENVIRONMENT else f'{place}: {name}'}: {error}", USAGE) from None


def given(setting: Setting, environment: Mapping[str, str] | None = None) -> str:
    """Returns what the environment, or the file that it names, gives for a setting; empty: nothing, or no text that can
    be read. A file is read once in this process, for all settings."""
    environment = os.environ if environment is None else environment
    if text := environment.get(setting.variable):
        return text
    return _read_once(path).get(setting.name, "") if (path := environment.get(CONFIG)) else ""


@cache
def _read_once(path: str) -> Mapping[str, str]:
    try:
        return read(path)
    except CommandError:
        return {}


def called(arguments: argparse.Namespace, name: str) -> str:
    """Returns the setting as the place calls it that gave its value: `--gpus`, `JITC_GPUS`, `gpus (FILE)`."""
    origin: Origin = arguments.origins[name]
    return origin.name if origin.place in (COMMAND_LINE, ENVIRONMENT, DEFAULT) else f"{origin.name} ({origin.place})"
