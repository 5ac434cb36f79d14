"""Tables of docs/cli.md that come from the parsers: options of the commands, and variables of the environment.

Called by: `python -m jitc.proxy.commands.pages`. Promise: output depends only on parsers and tables; only the parts of
the page between two marks change. The options that start a service have a table of their own
(protos/ops/options/generator.py).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

from jitc.ops.options.table import BY_NAME

from ..variables import VARIABLES, Variable

Parsers = Mapping[str, argparse.ArgumentParser]


def page(text: str, parsers: Parsers) -> str:
    """Returns the page with current tables. Raises ValueError if a mark is missing."""
    for name, table in (("commands", options(parsers)), ("variables", variables())):
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end of {name} -->\n"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"docs/cli.md needs one {begin.strip()} and one {end.strip()}")
        before, rest = text.split(begin)
        text = before + begin + table + end + rest.split(end)[1]
    return text


def options(parsers: Parsers) -> str:
    """Returns the table of all words but the options of devices, each with the commands that have it."""
    found: dict[tuple[str, str], list[str]] = {}
    for command, parser in parsers.items():
        for name, one in _commands(command, parser):
            for action in one._actions:
                if _counts(action):
                    text = one._get_formatter()._expand_help(action).replace("|", "\\|")
                    found.setdefault((usage(action), text), []).append(name)
    rows = (f"| `{words}` | {', '.join(names)} | {text} |\n" for (words, text), names in found.items())
    return "| word | of | for |\n|---|---|---|\n" + "".join(rows)


def _commands(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Returns the command and those below it, each without the name of `jitc` itself."""
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below, one in action.choices.items():
                yield from _commands(below if name == "jitc" else f"{name} {below}", one)


def _counts(action: argparse.Action) -> bool:
    if action.help in (argparse.SUPPRESS, None) or isinstance(
        action, argparse._SubParsersAction | argparse._HelpAction
    ):
        return False
    return "--version" not in action.option_strings and action.dest.replace("_", "-") not in BY_NAME


def usage(action: argparse.Action) -> str:
    """Returns an option with its placeholder, as a user writes it."""
    names = [one for one in action.option_strings if not one.startswith("--no-")]
    values = "" if action.nargs == 0 else str(action.metavar or "|".join(map(str, action.choices or ())))
    if action.nargs == "?":
        values = f"[{values}]"
    return " ".join(one for one in (", ".join(names), values) if one).replace("|", "\\|")


def variables() -> str:
    return "| variable | read by | for |\n|---|---|---|\n" + "".join(map(_row, VARIABLES))


def _row(one: Variable) -> str:
    names = ", ".join(f"`{name}{f'={one.value}' if one.value else ''}`" for name in one.names)
    return f"| {names} | {one.read_by} | {one.help} |\n"
