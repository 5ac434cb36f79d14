"""docs/mistakes.md: the commands print what the page says, with the exit status that it says.

`JITC_WRITE_MISTAKES=1 pytest FILE` writes what they print into the page. The page is the same on every machine: the
commands run in a new folder with no variable or file of ours, and the names of the folders in it are replaced.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from toolkit.tree import ROOT

PAGE = ROOT / "docs" / "mistakes.md"
BIN = Path(sys.executable).parent
#: A block: its command, its output, and its exit status.
BLOCK = re.compile(r"```console\n\$ (.+)\n((?:(?!\$ |```).*\n)*)\$ echo \$\?\n((?:\d+\n)?)```\n")
WITH_A_SERVICE = "\n## With a service\n"
COMMANDS = ("jitc", "jitc-proxyd")


class Place:
    """A folder in which commands run; on the page its parts have other names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names = {"/run/jitc": str(folder / "jitc"), "/srv/shared": str(folder / "shared")}
        (folder / "jitc").mkdir(mode=0o700)
        (folder / "train.py").touch()
        (folder / "shared").mkdir()
        (folder / "shared").chmod(0o777)
        ours = ("JITC_", "XDG_")
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self.environ |= {"HOME": str(folder), "JITC_SOCKET": self.real("/run/jitc/proxyd.sock")}
        self.environ.pop("LD_PRELOAD", None)

    def real(self, text: str) -> str:
        for shown, name in self.names.items():
            text = text.replace(shown, name)
        return text

    def shown(self, text: str) -> str:
        for shown, name in self.names.items():
            text = text.replace(name, shown)
        return text

    def words(self, command: str) -> list[str]:
        name, *rest = shlex.split(self.real(command))
        assert name in COMMANDS, command
        return [str(BIN / name), *rest]

    def block(self, command: str) -> str:
        """The block of a command as it should be on the page."""
        done = subprocess.run(
            self.words(command), env=self.environ, cwd=self.folder, stdin=subprocess.DEVNULL, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
        )  # fmt: skip
        assert done.returncode > 0, f"{command} is no mistake"
        assert re.fullmatch(r"[^\n]+\n", done.stdout), f"{command} prints {done.stdout!r}, not one line"
        return f"```console\n$ {command}\n{self.shown(done.stdout)}$ echo $?\n{done.returncode}\n```\n"

    @contextmanager
    def service(self) -> Iterator[None]:
        words = self.words("jitc-proxyd --gpus 2 --spares 0 --threads 1")
        with subprocess.Popen(words, env=self.environ, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None and process.stdout.readline().startswith("jitc-proxyd ready")
                yield
            finally:
                process.send_signal(signal.SIGTERM)
        assert process.returncode == 0


def rewritten(text: str, place: Place) -> str:
    """The page with what the commands print now."""
    assert text.count(WITH_A_SERVICE) == 1
    without, having = text.split(WITH_A_SERVICE)
    first = BLOCK.sub(lambda found: place.block(found[1]), without)
    with place.service():
        second = BLOCK.sub(lambda found: place.block(found[1]), having)
    return first + WITH_A_SERVICE + second


def test_the_page_says_what_the_commands_say(tmp_path_factory: pytest.TempPathFactory) -> None:
    place = Place(tmp_path_factory.mktemp("m"))
    text = PAGE.read_text()
    now = rewritten(text, place)
    if os.environ.get("JITC_WRITE_MISTAKES") == "1":
        PAGE.write_text(now)
        text = now
    assert text == now
    assert sorted(one.name for one in place.folder.rglob("*")) == ["jitc", "shared", "train.py"]


def test_the_page_has_nothing_but_such_blocks() -> None:
    text = PAGE.read_text()
    assert len(BLOCK.findall(text)) == text.count("```") // 2 >= 10
    headings = re.findall(r"^### .+\n\n(?s:.+?)(?=^##|\Z)", text, re.MULTILINE)
    assert len(headings) == len(BLOCK.findall(text))
    assert all(len(BLOCK.findall(one)) == 1 for one in headings)
