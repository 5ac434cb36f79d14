"""`jitc-proxyd --print-config`: each setting with its value and where that comes from, as a file that --config reads.

Called by: proxyd.py. Promise: a service that is started with the printed file has the same settings.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from jitc.ops.options.table import GROUPS, OVERHEAD_PARTS
from jitc.ops.options.values import Size, size_text

from ...common.printable import LINE, printable
from .resolve import COMMAND_LINE, DEFAULT, ENVIRONMENT, Origin
from .service import share
from .setting import ADMINS, CLUSTER_SETTINGS, DEVICE_SETTINGS, RESPAWN, SOCKET, USERS, Setting


def printed(arguments: argparse.Namespace, socket: str) -> str:
    """Returns the text. socket: the path that the service would have."""
    groups: dict[str, list[Setting]] = {title: [] for title in GROUPS}
    for one in DEVICE_SETTINGS:
        if one.option is not None:
            groups[one.option.group].append(one)
    groups = {"service": [SOCKET, RESPAWN, USERS, ADMINS], "several nodes": list(CLUSTER_SETTINGS)} | groups
    lines = ["# What jitc-proxyd would be started with. A file for jitc-proxyd --config FILE."]
    for title, settings in groups.items():
        lines += ["", f"# {title}"]
        for one in settings:
            value = socket if one is SOCKET else getattr(arguments, one.attribute)
            lines.append(_line(one, value, arguments.origins[one.name], _otherwise(one, arguments)))
    return "\n".join(lines)


def _otherwise(setting: Setting, arguments: argparse.Namespace) -> str:
    """Returns what a setting without a value follows from; empty: it has a default of its own."""
    option = setting.option
    if option is None:
        return ""
    if option.field in OVERHEAD_PARTS and arguments.overhead is not None:
        return f"{100 * share(arguments, option):g}, its part of overhead"
    return option.otherwise


def _line(setting: Setting, value: Any, origin: Origin, otherwise: str) -> str:
    if origin.place == DEFAULT and otherwise:
        return f"{f'# {setting.name}':<40} # default: {otherwise}"
    return f"{f'{setting.name} = {_written(setting, value)}':<40} # {_from(origin)}"


def _written(setting: Setting, value: Any) -> str:
    """Returns the value in TOML."""
    if setting.option is not None and value is None:  # a budget has its own default
        value = setting.option.default
    if setting.option is not None and isinstance(setting.option.values, Size):
        return f'"{size_text(value)}"' if value else "0"
    return json.dumps(value, ensure_ascii=False)


def _from(origin: Origin) -> str:
    place = origin.place if origin.place in (COMMAND_LINE, DEFAULT) else origin.name
    if origin.place not in (COMMAND_LINE, DEFAULT, ENVIRONMENT):
        place = origin.place
    return printable(place + (f", over {' and '.join(origin.over)}" if origin.over else ""), LINE)
