"""A setting: a value that a word of the command line, a variable of the environment, or a line of a file gives.

Called by: the other modules here, which read, add up and print settings. Promise: one text means the same from each of
these places.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jitc.ops.options.table import OPTIONS, Default, Option
from jitc.ops.options.values import Choice, File, Flag, Folder, Number, Percent, Seconds, Size, Values

from ..options import (
    cluster_store,
    host_and_port,
    library_file,
    node_name,
    number,
    people,
    percent,
    readable_file,
    readable_folder,
    seconds,
    shown,
    size,
    socket_path,
    user_name,
    writable_folder,
)  # fmt: skip

_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True)
class Setting:
    """A setting. Its name has no dashes in front."""

    name: str
    #: Turns a text into the value; raises argparse.ArgumentTypeError.
    parse: Callable[[str], Any]
    #: The value if nothing gives one. None: it follows from other settings, or from the machine.
    default: Default
    flag: bool = False
    #: The text names a file or folder.
    path: bool = False
    option: Option | None = None

    @property
    def variable(self) -> str:
        """Returns the name of its variable in the environment."""
        return "JITC_" + self.name.replace("-", "_").upper()

    @property
    def attribute(self) -> str:
        return self.name.replace("-", "_")


def yes_or_no(text: str) -> bool:
    """Parses a flag."""
    if text.lower() not in (*_YES, *_NO):
        raise argparse.ArgumentTypeError(f"{shown(text)} is none of {', '.join(_YES)}, {', '.join(_NO)}")
    return text.lower() in _YES


def as_text(value: object) -> str:
    """Returns a value as a text that is parsed to it; numbers have no exponent there."""
    return f"{value:.9f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def or_none(parse: Callable[[str], str]) -> Callable[[str], str]:
    """Returns a parser that also takes an empty text, for none."""
    return lambda text: parse(text) if text else ""


def _one_of(allowed: Choice) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed.words:
            raise argparse.ArgumentTypeError(f"{shown(text)} is none of {', '.join(allowed.words)}")
        return text

    return parse


_PARSERS: dict[type, Callable[[Any], Callable[[str], Any]]] = {
    Number: number, Seconds: seconds, Percent: percent, Size: size, Choice: _one_of, Flag: lambda _: yes_or_no,
    Folder: lambda _: writable_folder, File: lambda _: library_file,
}  # fmt: skip


def parser_of(values: Values) -> Callable[[str], Any]:
    """Returns the function that parses such values from texts."""
    return _PARSERS[type(values)](values)


def _setting(option: Option) -> Setting:
    """Returns an option of the table as a setting. A budget has no default: it may follow from --overhead."""
    values = option.values
    default = None if isinstance(values, Percent) else option.default
    paths = isinstance(values, Folder | File)
    return Setting(option.name, parser_of(values), default, isinstance(values, Flag), paths, option)


DEVICE_SETTINGS = tuple(map(_setting, OPTIONS))
SOCKET = Setting("socket", socket_path, None, path=True)
RESPAWN = Setting("respawn", yes_or_no, False, flag=True)
USERS, ADMINS = Setting("users", people, ""), Setting("admins", people, "")
#: Of the cluster, and of its store; none of them: no cluster.
CLUSTER_SETTINGS = (
    Setting("cluster", or_none(cluster_store), ""), Setting("node", or_none(node_name), ""),
    Setting("peer-address", or_none(host_and_port), ""), Setting("bridge-address", or_none(host_and_port), ""),
    Setting("peer-certificates", or_none(readable_folder), "", path=True),
    Setting("cluster-ca", or_none(readable_file), "", path=True),
    Setting("cluster-cert", or_none(readable_file), "", path=True),
    Setting("cluster-key", or_none(readable_file), "", path=True), Setting("cluster-user", or_none(user_name), ""),
)  # fmt: skip
BY_NAME = {one.name: one for one in DEVICE_SETTINGS}
#: Settings of jitc-proxyd; `jitc run` has those of the devices, and passes over the others in a file.
SERVICE_SETTINGS = (*DEVICE_SETTINGS, SOCKET, RESPAWN, USERS, ADMINS, *CLUSTER_SETTINGS)
