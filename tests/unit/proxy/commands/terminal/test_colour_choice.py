"""Who gets tables, and who colour: terminals, pipes, NO_COLOR, TERM, --color; and what stays the plain text."""

from __future__ import annotations

import subprocess
import sys

import pytest
from standin_client import Client
from terminals import Command, Commands, clean

from jitc.proxy.commands import jitc as cli
from jitc.proxy.commands.terminal import colour
from jitc.proxy.service import Service

HEADS = "GPU  device    state"
PLAIN = "GPU 0  software  ready  memory"


def finished(command: Command) -> str:
    assert command.ended() == 0, (command.output, command.errors)
    return command.output


def test_terminals_and_pipes(service: Service, commands: Commands) -> None:
    client = Client(service, rank=0, world_size=1, job="[bold]x[/bold]")
    status = ("status", "--socket", service.config.socket)
    started = {
        "terminal": commands.on_terminal(*status),
        "narrow": commands.on_terminal(*status, columns=40),
        "columns": commands.on_terminal(*status, COLUMNS="50"),
        "no colour": commands.on_terminal(*status, NO_COLOR="1"),
        "dumb": commands.on_terminal(*status, TERM="dumb", columns=70),
        "never": commands.on_terminal(*status, "--color", "never"),
        "always": commands.on_terminal(*status, "--color=always", NO_COLOR="1", TERM="dumb"),
        "pipe": commands.piped(*status, FORCE_COLOR="1"),
        "piped never": commands.piped(*status, "--color", "never"),
        "piped always": commands.piped(*status, "--color", "always", COLUMNS="120"),
        "report": commands.on_terminal("report", *status[1:]),
    }
    said = {name: finished(one) for name, one in started.items()}
    client.close()
    for name in ("terminal", "always", "piped always"):
        assert "\x1b[32mready" in said[name] and HEADS in clean(said[name]), name
        assert "job [bold]x[/bold]\n" in clean(said[name])
    for name in ("no colour", "dumb", "never"):
        assert "\x1b" not in said[name] and HEADS in said[name], name
    for name, columns in (("narrow", 40), ("columns", 50), ("dumb", 70)):
        assert max(map(len, clean(said[name]).splitlines())) <= columns, name
    assert said["pipe"] == said["piped never"] and said["pipe"].startswith(PLAIN) and "\x1b" not in said["pipe"]
    assert said["report"] == "no recoveries so far\r\n"


def test_sizes_come_from_the_terminal_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, columns in (("33", 33), ("0", 80), ("-5", 80), ("wide", 80), ("99999", 80), ("", 80)):
        monkeypatch.setenv("COLUMNS", value)
        monkeypatch.setattr("os.get_terminal_size", no_terminal)
        assert colour.size()[0] == columns, value


def no_terminal(_: int) -> tuple[int, int]:
    raise OSError("no terminal")


class Terminal:
    """Standard output of a terminal, as far as the choice looks at it."""

    def isatty(self) -> bool:
        return True


def test_without_rich_the_answer_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    assert colour.console("auto") is not None
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert colour.console("auto") is None and not colour.print_tables("status", {}, "always")


@pytest.mark.parametrize(("term", "redraws"), [("xterm", True), ("", False), ("dumb", False), ("unknown", False)])
def test_terminals_that_cannot_redraw(term: str, redraws: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("TERM", term)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert colour.can_redraw() is redraws
    console = colour.console("auto")
    assert console is not None and (console.color_system == "standard") is redraws


def test_plain_output_and_help_import_no_rich(service: Service) -> None:
    for words in (["--help"], ["status", "--socket", service.config.socket], ["report", "--color", "never"]):
        code = (
            "import sys; from jitc.proxy.commands import jitc\n"
            f"try: jitc.main({words!r})\nexcept SystemExit: pass\n"
            "print([one for one in sys.modules if one.split('.')[0] == 'rich'], file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
        assert done.stderr.splitlines()[-1] == "[]", done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["status", "--color", "sometimes"], "--color: there is no value 'sometimes'; there are auto, always, never"),
        (["status", "--watch", "0"], "'0' is not a number of seconds from 0.1 to 3600"),
        (["status", "--watch", "0.09"], "from 0.1 to 3600"),
        (["status", "--watch=3601"], "from 0.1 to 3600"),
        (["status", "--watch=nan"], "from 0.1 to 3600"),
        (["status", "--watch=٣"], "from 0.1 to 3600"),
        (["report", "--follow", "--html", "-"], "--follow goes with neither --html nor --trace"),
        (["report", "--follow", "--trace", "-"], "--follow goes with neither --html nor --trace"),
    ],
)
def test_wrong_words(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = cli.main(words)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    out, err = capsys.readouterr()
    assert (code, out, len(err.splitlines())) == (2, "", 1) and said in err
