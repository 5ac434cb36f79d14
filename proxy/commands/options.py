"""The commands' options: how they are parsed, and the one-line message about a wrong value.

Called by: proxyd.py, jitc.py, run.py, demo/command.py. Promises: a service can be started with any value that is
accepted here; a mistake is one line on standard error that names the allowed values, with exit status 2; nothing heavy
is imported before it is needed.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from jitc.ops.options.table import BOUNDARY_BUDGETS, GPUS_MOST, GROUPS, OPTIONS, OVERHEAD_PARTS, Default, Option
from jitc.ops.options.values import (
    Choice,
    File,
    Flag,
    Folder,
    Number,
    Percent,
    Seconds,
    Size,
    Values,
    size_text,
)  # fmt: skip

from ..backends import KINDS
from ..common import paths
from ..keeper.socket_lock import PATH_LIMIT

FAILED, USAGE, NO_SERVICE, RACES, NOT_PROVEN = 1, 2, 3, 4, 5

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)(?:([KMGT])i?)?B?", re.IGNORECASE | re.ASCII)
_DECIMAL = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_PAGE = 4096
#: Characters of a wrong value that a message repeats.
_SHOWN = 60


class CommandError(Exception):
    """An error that is reported in one line; code is the exit status."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def complain(command: str, message: str, code: int = FAILED) -> int:
    """Prints the message as one line, whatever characters it has. Returns the exit status."""
    line = "".join(one if one.isprintable() else repr(one)[1:-1] for one in " ".join(message.split("\n")))
    print(f"{command}: {line}", file=sys.stderr, flush=True)
    return code


def shown(text: str) -> str:
    """Returns a wrong value as messages quote it."""
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."


# -- values ---------------------------------------------------------------------------------------


def number(allowed: Number) -> Callable[[str], int]:
    """Parses whole numbers in ASCII digits."""

    def parse(text: str) -> int:
        value = int(text) if re.fullmatch("[0-9]{1,19}", text) else -1
        if not allowed.least <= value <= allowed.most:
            raise argparse.ArgumentTypeError(
                f"{shown(text)} is not a whole number from {allowed.least} to {allowed.most}"
            )
        return value

    return parse


def seconds(allowed: Seconds) -> Callable[[str], float]:
    """Parses seconds, with and without a fraction."""

    def parse(text: str) -> float:
        value = _decimal(text)
        if value and not allowed.least <= value <= allowed.most:
            raise argparse.ArgumentTypeError(
                f"{shown(text)} is not a number of seconds from {allowed.least:g} to {allowed.most:.0f}, "
                f"or 0: {allowed.zero}"
            )
        return value

    return parse


def percent(allowed: Percent) -> Callable[[str], float]:
    """Parses a percentage."""
    zero = f" ({allowed.zero})" if allowed.zero else ""

    def parse(text: str) -> float:
        value = _decimal(text)
        if not allowed.least <= value <= allowed.most:
            raise argparse.ArgumentTypeError(
                f"{shown(text)} is not a percentage from {allowed.least:g}{zero} to {allowed.most:g}"
            )
        return value

    return parse


def size(allowed: Size) -> Callable[[str], int]:
    """Parses bytes from "4GiB", "512M", "1073741824"."""
    words = f"from {size_text(allowed.least)} to {size_text(allowed.most)}"
    words += f", or 0: {allowed.zero}" if allowed.zero else ""

    def parse(text: str) -> int:
        match = _SIZE.fullmatch(text)
        value = Fraction(match[1]) * _UNITS[(match[2] or "").upper()] if match else Fraction(-1)
        if not allowed.least <= value <= allowed.most and not (allowed.zero and value == 0):
            raise argparse.ArgumentTypeError(f"{shown(text)} is not a size like 1.5GiB, {words}")
        return int(value) // allowed.unit * allowed.unit

    return parse


def _decimal(text: str) -> float:
    return float(text) if _DECIMAL.fullmatch(text) else -1.0


def socket_path(text: str) -> str:
    """Parses an absolute path that a socket can have."""
    try:
        path = os.path.abspath(text)
    except OSError:
        raise argparse.ArgumentTypeError("the current folder is gone; give an absolute path") from None
    if not text or text.endswith("/"):
        raise argparse.ArgumentTypeError(f"{shown(text)} is no path of a socket; give one like /run/jitc/proxyd.sock")
    if not path.isprintable():
        raise argparse.ArgumentTypeError(f"{shown(text)} has characters that cannot be printed; choose another path")
    if len(os.fsencode(path)) > PATH_LIMIT:
        raise argparse.ArgumentTypeError(f"{shown(path)} is longer than {PATH_LIMIT} bytes; choose a shorter path")
    return path


def chosen_socket(named: str | None) -> str:
    """Returns the path of --socket, otherwise the default. Raises CommandError for a default that no socket can
    have."""
    if named is not None:
        return named
    try:
        return socket_path(paths.default_socket())
    except argparse.ArgumentTypeError as error:
        raise CommandError(f"the socket of JITC_SOCKET or XDG_RUNTIME_DIR: {error}", USAGE) from None


def writable_folder(text: str) -> str:
    """Parses a folder in which a file can be created, by trying it: only the kernel knows the permissions."""
    from ..common.shared_memory import NoSpace, spill_file

    if not os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"{shown(text)} is no folder; name one that exists")
    path = os.path.abspath(text)
    try:
        spill_file(path, _PAGE).close()
    except NoSpace as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return path


def new_file(text: str) -> str:
    """Parses a path that can be written to; nothing is written yet."""
    path = os.path.abspath(text)
    target = path if os.path.exists(path) else os.path.dirname(path)
    if not text or os.path.isdir(path) or not os.access(target, os.W_OK):
        raise argparse.ArgumentTypeError(f"{shown(text)} cannot be written to; name a file in a folder that can")
    return path


def output_file(text: str) -> str:
    """Parses a path that can be written to, or - for standard output; nothing is written yet."""
    return text if text == "-" else new_file(text)


def library_file(text: str) -> str:
    if not os.path.isfile(text):
        raise argparse.ArgumentTypeError(f"{shown(text)}: there is no such file")
    return os.path.abspath(text)


# -- options of a service ---------------------------------------------------------------------------


def add_device_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that jitc-proxyd and `jitc run` share (protos/ops/options/table.py), in groups."""
    groups = {title: parser.add_argument_group(title) for title in GROUPS}
    for one in OPTIONS:
        _add(groups[one.group], one)


def _add(group: argparse._ArgumentGroup, option: Option) -> None:
    devices = f"{option.devices[0]}: " if option.devices else ""
    text = f"{devices}{option.help} ({option.without_it})".replace("%", "%%")
    name, values = f"--{option.name}", option.values
    if isinstance(values, Flag):
        group.add_argument(name, action="store_true", help=text)
    elif isinstance(values, Choice):
        group.add_argument(name, choices=values.words, default=option.default, help=text)
    else:
        parse, unsaid = _parser_of(values), _unsaid(option)
        group.add_argument(name, type=parse, default=unsaid, metavar=values.metavar, help=text)


def _parser_of(values: Values) -> Callable[[str], Any]:
    match values:
        case Number():
            return number(values)
        case Seconds():
            return seconds(values)
        case Percent():
            return percent(values)
        case Size():
            return size(values)
        case Folder():
            return writable_folder
        case File():
            return library_file
        case Choice() | Flag():
            raise TypeError("argparse parses these itself")


def check_device_options(arguments: argparse.Namespace) -> None:
    """Checks combinations of options. Raises CommandError."""
    for option in OPTIONS:
        if option.devices and arguments.device not in option.devices and _is_given(arguments, option):
            because = f": {option.because}" if option.because else ""
            raise CommandError(f"--{option.name} goes with --device {option.devices[0]}{because}", USAGE)
    if arguments.spare_gpus and arguments.workers_per_gpu > 1:
        raise CommandError("--spare-gpus does not go with --workers-per-gpu: a spare GPU is a whole one", USAGE)
    usual = GPUS_MOST if KINDS[arguments.device].runs_kernels else 1
    if arguments.spare_gpus >= (arguments.gpus or usual):
        raise CommandError("--spare-gpus is less than --gpus: at least one GPU is for programs", USAGE)
    if arguments.gpus * arguments.workers_per_gpu > GPUS_MOST:
        raise CommandError(f"--gpus times --workers-per-gpu is at most {GPUS_MOST}", USAGE)


def configured(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the configuration's fields that the options set (jitc.ops.options.generated_fields)."""
    fields: dict[str, Any] = {}
    for option in OPTIONS:
        value = _value(arguments, option)
        if isinstance(option.values, File):
            fields.setdefault(option.field, {}).update({option.name: value} if value else {})
        elif isinstance(option.values, Percent):
            fields[option.field] = _share(arguments, option)
        else:
            fields[option.field] = value
    fields.pop("")
    return fields


def _share(arguments: argparse.Namespace, option: Option) -> float:
    """Returns a share of a job's time: the option's, otherwise its part of --overhead, otherwise its default."""
    percent: float | None = _value(arguments, option)
    if percent is None and arguments.overhead is not None and option.field:
        percent = arguments.overhead * OVERHEAD_PARTS[option.field]
    if percent is None:
        percent = BOUNDARY_BUDGETS[arguments.device] if option.default is None else float(option.default)
    return percent / 100


def _value(arguments: argparse.Namespace, option: Option) -> Any:
    return getattr(arguments, option.name.replace("-", "_"))


def _is_given(arguments: argparse.Namespace, option: Option) -> bool:
    return bool(_value(arguments, option) != _unsaid(option))


def _unsaid(option: Option) -> Default:
    """Returns the value if the option is not given: none for a budget, which may follow from --overhead."""
    return None if isinstance(option.values, Percent) else option.default


def device_words(arguments: argparse.Namespace) -> list[str]:
    """Returns the options of add_device_options as words, to start a service with them."""
    words = []
    for option in OPTIONS:
        value = _value(arguments, option)
        if _is_given(arguments, option):
            words += [f"--{option.name}", *([] if value is True else [str(value)])]
    return words
