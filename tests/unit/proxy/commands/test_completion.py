"""Words are completed in real shells, in a real terminal (tmux), as a user types them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from toolkit.tree import ROOT
from toolkit.waiting import until

from jitc.proxy.commands import jitc
from jitc.proxy.commands.installed.completion import SHELLS

PROGRAMS = ROOT / ".venv" / "bin"
START = {
    "bash": ("bash --norc --noprofile", 'eval "$(jitc completion bash)"'),
    "zsh": ("zsh -f", 'autoload -Uz compinit; compinit -u -D; eval "$(jitc completion zsh)"'),
    "tcsh": ("tcsh -f", "jitc completion tcsh > jitc.tcsh; source jitc.tcsh"),
}


class Terminal:
    """A shell in a terminal of 100 columns."""

    def __init__(self, folder: Path, command: str) -> None:
        self.tmux = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        path = f"{PROGRAMS}:{os.environ['PATH']}"
        environment = {"PATH": path, "HOME": str(folder), "TERM": "xterm", "LANG": "C.UTF-8", "PS1": "% "}
        words = ["new-session", "-d", "-x", "100", "-y", "40", "-c", str(folder), f"exec {command}"]
        subprocess.run([*self.tmux, *words], check=True, env=environment, timeout=60)

    def type(self, *keys: str) -> None:
        for one in keys:
            words = [one] if one in ("Tab", "Enter", "C-u") else ["-l", one]
            subprocess.run([*self.tmux, "send-keys", *words], check=True, timeout=60)

    def shows(self, text: str) -> None:
        until(lambda: text in self.screen(), 60, f"{text!r} in {self.screen()}")

    def screen(self) -> str:
        shown = subprocess.run(
            [*self.tmux, "capture-pane", "-p"], check=True, capture_output=True, text=True, timeout=60
        )
        return shown.stdout

    def end(self) -> None:
        subprocess.run([*self.tmux, "kill-server"], check=False, timeout=60)


@pytest.fixture(params=SHELLS)
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    for program in ("tmux", request.param):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not here (Debian's package is called {program})")
    command, begin = START[request.param]
    terminal = Terminal(tmp_path, command)
    terminal.type(f"{begin}; echo rea''dy", "Enter")
    terminal.shows("ready")
    yield terminal
    terminal.end()


def test_words_are_completed(terminal: Terminal) -> None:
    for typed, completed in (
        ("jitc stat", "jitc status"),
        ("jitc preload-p", "jitc preload-path"),
        ("jitc-proxyd --print-c", "jitc-proxyd --print-config"),
        ("jitc report --foll", "jitc report --follow"),
        ("jitc cluster rot", "jitc cluster rotate"),
        ("jitc-proxyd --device soft", "jitc-proxyd --device software"),
    ):
        terminal.type(typed, "Tab")
        terminal.shows(completed)
        terminal.type("C-u")


def test_a_shell_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        jitc.main(["completion", "bahs"])
    assert end.value.code == 2
    assert "did you mean bash?" in capsys.readouterr().err


def test_without_the_package_one_line_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "shtab", None)
    assert jitc.main(["completion", "bash"]) == 1
    assert capsys.readouterr().err.endswith("run `pip install shtab`\n")
