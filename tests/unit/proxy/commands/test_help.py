"""What `--help` says, of each command: its groups and headings in their order, examples, and no word broken."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from jitc.ops.options.table import GROUPS
from jitc.proxy.commands import jitc, proxyd
from jitc.proxy.commands.parser import Parser

#: Columns of terminals, and one on which nothing is wrapped.
WIDTHS, WIDE = (40, 64, 72, 80, 100, 132), 10_000
HEADING = re.compile(r"^([a-zA-Z][\w' ]*):$", re.MULTILINE)
INNER_HEADING = re.compile(r"^  ([a-z][\w' ]*):$", re.MULTILINE)


def commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser, and those of all commands below it."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from commands(one)


PARSERS = {one.prog: one for parser in (proxyd.parser(), jitc.parser()) for one in commands(parser)}
each = pytest.mark.parametrize("name", PARSERS)


def test_all_commands_are_among_them() -> None:
    assert len(PARSERS) > 12 and {"jitc", "jitc-proxyd", "jitc run", "jitc gpu return"} <= PARSERS.keys()


@pytest.mark.parametrize(("name", "others"), [("jitc-proxyd", ["several users", "several nodes"]), ("jitc run", [])])
def test_groups_of_options_from_devices_to_tests(name: str, others: list[str]) -> None:
    assert GROUPS == ("devices", "limits", "faults", "determinism", "NVIDIA's libraries", "tests of a program")
    titles = [one for one in HEADING.findall(PARSERS[name].format_help()) if one != "positional arguments"]
    assert titles == ["options", *GROUPS[:-1], *others, GROUPS[-1], "examples"]


def test_headings_of_commands_from_programs_to_tests() -> None:
    said = PARSERS["jitc"].format_help()
    assert INNER_HEADING.findall(said) == ["programs", "the service", "the installation", "tests of a recovery"]
    assert HEADING.findall(said) == ["options", "commands", "examples"]
    first = [re.search(rf"^  {title}:\n    ([\w-]+)", said, re.MULTILINE) for title in jitc.HEADINGS.values()]
    assert [found and found[1] for found in first] == list(jitc.HEADINGS)
    listed = re.findall(r"^    ([a-z][\w-]*)(?: |$)", said.split("\nexamples:")[0], re.MULTILINE)
    assert {f"jitc {one}" for one in listed} == {one for one in PARSERS if one.count(" ") == 1}


@each
def test_examples_can_be_typed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command of an example that is jitc's is one that its parser accepts."""
    monkeypatch.chdir(tmp_path)
    _, said = PARSERS[name].format_help().split("\nexamples:\n")
    lines = [line.strip() for line in said.splitlines()]
    assert lines and all(len(line) <= 78 for line in lines)
    typed = [found for line in lines if (found := re.search(r"\b(jitc(?:-proxyd)?) (?!COMMAND|&&)([^|>)\"]*)", line))]
    assert typed or name == "jitc-proxyd"
    for found in typed:
        parser = proxyd.parser() if found[1] == "jitc-proxyd" else jitc.parser()
        parser.parse_args(shlex.split(re.split(r"   +", found[2])[0]))


@each
@pytest.mark.parametrize("columns", WIDTHS)
def test_no_word_is_broken(name: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option's name on two lines is found by nobody, and cannot be copied: each help has the words that it has where
    nothing is wrapped."""
    parser = PARSERS[name]
    monkeypatch.setenv("COLUMNS", str(WIDE))
    whole = parser.format_help()
    monkeypatch.setenv("COLUMNS", str(columns))
    said = parser.format_help()
    assert said.split() == whole.split()
    if columns >= 72:
        assert max(map(len, said.splitlines())) <= columns, "what is kept as it is written is narrower"


def test_a_command_s_words_are_not_taken_apart() -> None:
    """At a hyphen, where argparse itself would do so."""
    parser = Parser(prog="x", description="say " * 30 + "--hang-seconds-of-a-long-name-that-no-line-has-room-for")
    assert "--hang-seconds-of-a-long-name-that-no-line-has-room-for" in parser.format_help().split()
