"""The options that start a service: on the command line, checked together, as the configuration, and as words again.

Called by: proxyd.py, jitc.py, run.py. Promise: a service can be started with any combination that is accepted here;
words that are made of settings give the same settings.
"""

from __future__ import annotations

import argparse
from typing import Any

from jitc.ops.options.table import BOUNDARY_BUDGETS, GPUS_MOST, GROUPS, OPTIONS, OVERHEAD_PARTS, Default, Option
from jitc.ops.options.values import Choice, File, Flag, Percent

from ...backends import KINDS
from ..options import USAGE, CommandError
from .resolve import DEFAULT, Origin, called, resolve
from .setting import DEVICE_SETTINGS, Setting, as_text, parser_of


def add_device_options(parser: argparse.ArgumentParser, *others: str) -> dict[str, argparse._ArgumentGroup]:
    """Adds the options that jitc-proxyd and `jitc run` share (protos/ops/options/table.py), in groups. others: titles
    of groups without options so far, above the last one. Returns the groups, by their titles."""
    parser.add_argument(
        "--config", metavar="FILE", help="read the options that are not given here from a TOML file (JITC_CONFIG)"
    )
    parser.add_argument("--resolved", action="store_true", help=argparse.SUPPRESS)
    groups = {title: parser.add_argument_group(title) for title in (*GROUPS[:-1], *others, GROUPS[-1])}
    for one in OPTIONS:
        _add(groups[one.group], one)
    return groups


def _add(group: argparse._ArgumentGroup, option: Option) -> None:
    devices = f"{option.devices[0]}: " if option.devices else ""
    text = f"{devices}{option.help} ({option.without_it})".replace("%", "%%")
    name, values = f"--{option.name}", option.values
    if isinstance(values, Flag):
        group.add_argument(name, action=argparse.BooleanOptionalAction, default=None, help=text)
    elif isinstance(values, Choice):
        group.add_argument(name, choices=values.words, help=text)
    else:
        group.add_argument(name, type=parser_of(values), metavar=values.metavar, help=text)


def resolve_device_options(arguments: argparse.Namespace, settings: tuple[Setting, ...] = DEVICE_SETTINGS) -> None:
    """Gives each option its value, and checks combinations. Raises CommandError."""
    resolve(arguments, settings)
    for option in OPTIONS:
        if option.devices and arguments.device not in option.devices and _differs(arguments, option):
            because = f": {option.because}" if option.because else ""
            raise CommandError(
                f"{called(arguments, option.name)} goes with --device {option.devices[0]}{because}", USAGE
            )
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
            fields[option.field] = share(arguments, option)
        else:
            fields[option.field] = value
    fields.pop("")
    return fields


def share(arguments: argparse.Namespace, option: Option) -> float:
    """Returns a share of a job's time: the option's, otherwise its part of --overhead, otherwise its default."""
    percent: float | None = _value(arguments, option)
    if percent is None and arguments.overhead is not None and option.field:
        percent = arguments.overhead * OVERHEAD_PARTS[option.field]
    if percent is None:
        percent = BOUNDARY_BUDGETS[arguments.device] if option.default is None else float(option.default)
    return percent / 100


def device_words(arguments: argparse.Namespace) -> list[str]:
    """Returns the options of add_device_options as words: a service that is started with them has the same settings,
    whatever its environment and its file say by then."""
    words = ["--resolved"]
    for option in OPTIONS:
        value, origin = _value(arguments, option), arguments.origins[option.name]
        if isinstance(option.values, Flag):
            words += [f"--{option.name}"] if value else []
        elif _given(origin):
            words += [f"--{option.name}", as_text(value)]
    return words


def _given(origin: Origin) -> bool:
    return origin.place != DEFAULT


def _value(arguments: argparse.Namespace, option: Option) -> Any:
    return getattr(arguments, option.name.replace("-", "_"))


def _differs(arguments: argparse.Namespace, option: Option) -> bool:
    default: Default = None if isinstance(option.values, Percent) else option.default
    return bool(_value(arguments, option) != default)
