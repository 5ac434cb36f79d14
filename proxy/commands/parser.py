"""The parser of the commands: whole option names, one line for a mistake with the word that was probably meant, a
version for every command, and help in which no word is broken.

Called by: jitc.py, proxyd.py. Promise: nothing heavy is imported, and what is installed is looked at only when asked.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from .options import USAGE, CommandError, complain, shown

_NO_CHOICE = re.compile(r"^(?:argument (\S+): )?invalid choice: (.*) \(choose from (.*)\)$", re.DOTALL)
_STRANGERS = "unrecognized arguments: "


class Parser(argparse.ArgumentParser):
    """Accepts only whole option names; a mistake is one line, without the usage."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False, formatter_class=_Help)
        self._words: list[str] = []
        self.color = False  # of Python 3.14 on: its codes would stand in the way of the formatter below
        self.add_argument("-V", "--version", action=_Version, help="print the version and exit")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._words = list(sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        about = self._command() if message.startswith(_STRANGERS) else self.prog
        sys.exit(complain(self.prog, f"{self._said(message)} (see {about} --help)", USAGE))

    def _command(self) -> str:
        """Returns the command that was given, whose help explains its words."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for word in self._words:
                    if word in action.choices:
                        below: Parser = action.choices[word]
                        return below._command()
        return self.prog

    def _said(self, message: str) -> str:
        """Returns argparse's message, in the words of these commands where it is about a word that is none."""
        if message.startswith(_STRANGERS):
            first = message.removeprefix(_STRANGERS).split(" ")[0]
            options = [name for action in self._every() for name in action.option_strings if name.startswith("--")]
            return message + meant(first.split("=")[0], options if first.startswith("-") else [])
        if found := _NO_CHOICE.match(message):
            words = re.findall(r"[\w-]+", found[3])
            given = found[2].strip("'")
            kind = "command" if found[1] in (None, "COMMAND") else "value"
            where = "" if kind == "command" else f"{found[1]}: "
            return f"{where}there is no {kind} {shown(given)}{meant(given, words, known=True)}"
        return message

    def _every(self) -> Iterable[argparse.Action]:
        """Returns the actions of this parser, and of its commands'."""
        for action in self._actions:
            yield action
            if isinstance(action, argparse._SubParsersAction):
                for one in action.choices.values():
                    yield from one._every()


def meant(word: str, words: Sequence[str], *, known: bool = False) -> str:
    """Returns the question whether a word like it was meant, empty if there is none; known: all words instead."""
    close = get_close_matches(word, words, n=1, cutoff=0.6)
    others = f"; there are {', '.join(words)}" if known else ""
    return f"; did you mean {close[0]}?" if close else others


class _Version(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from .installed.version import line

        try:
            print(line(), flush=True)
        except CommandError as error:
            sys.exit(complain(parser.prog, str(error), error.code))
        parser.exit()


class _Help(argparse.HelpFormatter):
    """Breaks lines between words alone: an option's name is one. Keeps the lines of a text with lines of its own."""

    def _format_action(self, action: argparse.Action) -> str:
        text = super()._format_action(action)
        headings: dict[str, str] = getattr(action, "headings", {})
        for name, heading in headings.items():  # before the first command below each
            text = re.sub(rf"^    {name}\b", f"\n  {heading}:\n\\g<0>", text, count=1, flags=re.MULTILINE)
        if headings:
            text = text.partition("\n")[2]  # without the line that says COMMAND
        return text

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return textwrap.indent(text, indent)
        return textwrap.fill(
            text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
        )


def examples(*lines: str) -> str:
    """Returns the end of a help text: commands to try, a comment behind some of them."""
    return "\n".join(["examples:", *(f"  {one}" for one in lines)])


def without_a_command(parser: Parser) -> int:
    """Says what there is. Returns the exit status."""
    with contextlib.suppress(BrokenPipeError):
        parser.print_help()
    return 0
