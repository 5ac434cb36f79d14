"""What a user types first: nothing, a version, a word with a mistake; and what the help looks like."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
from toolkit.documents import refusals
from toolkit.job import run_command
from toolkit.service import BIN

from jitc.proxy.commands import entry, jitc, proxyd
from jitc.proxy.common import paths
from jitc.proxy.status.documents import mistakes
from jitc.proxy.status.version import Version

COMMANDS = (
    "run", "status", "report", "inject", "validate", "gpu", "preload-path", "version", "build-torch", "demo", "doctor",
    "completion", "support-bundle", "cluster",
)  # fmt: skip


def outcome(capsys: pytest.CaptureFixture[str], main: Callable[[list[str]], int], *words: str) -> tuple[int, str, str]:
    try:
        code = main(list(words))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    said = capsys.readouterr()
    return code, said.out, said.err


def test_nothing_is_answered_with_help(capsys: pytest.CaptureFixture[str]) -> None:
    alone = outcome(capsys, jitc.main)
    assert alone == outcome(capsys, jitc.main, "--help")
    assert alone[0] == 0 and alone[2] == ""
    for command in COMMANDS:
        assert re.search(rf"^    {command}\b", alone[1], re.MULTILINE)


def test_every_command_has_a_version(capsys: pytest.CaptureFixture[str]) -> None:
    line = f"jitc {version('jitc')} (protocol {paths.PROTOCOL_VERSION})\n"
    assert outcome(capsys, jitc.main, "version") == (0, line, "")
    for name in ("-V", "--version"):
        assert outcome(capsys, proxyd.main, name) == (0, line, "")
        for words in ([], *([command] for command in COMMANDS), ["gpu", "return"], ["cluster", "show"]):
            assert outcome(capsys, jitc.main, *words, name) == (0, line, ""), words


def test_the_document_of_versions(capsys: pytest.CaptureFixture[str]) -> None:
    import torch

    code, said, errors = outcome(capsys, jitc.main, "version", "--json")
    document = json.loads(said)
    assert (code, errors) == (0, "") and list(mistakes(document, Version)) == [] and refusals(document, "version") == []
    assert (document["version"], document["torch"]) == (version("jitc"), torch.__version__)
    assert (Path(document["native_part"]) / "libjitc_torch.so").is_file()


@pytest.mark.parametrize(
    ("words", "meant", "named"),
    [
        (["statsu"], "status", "there is no command 'statsu'"),
        (["valdate", "--gpu", "1"], "validate", "there is no command 'valdate'"),
        (["gpu", "retrun", "1"], "return", "'retrun'"),
        (["status", "--scoket", "x"], "--socket", "--scoket"),
        (["report", "--htlm=x"], "--html", "--htlm"),
        (["run", "--overhed", "2", "--", "x"], "--overhead", "--overhed"),
        (["run", "--device", "softwre", "--", "x"], "software", "--device: there is no value 'softwre'"),
        (["inject", "kil-worker", "--gpu", "0"], "kill-worker", "there is no fault 'kil-worker'"),
        (["inject", "kill-worker", "--gpu", "0", "--at", "phase=bakward"], "backward", "there is no phase 'bakward'"),
    ],
)
def test_a_word_with_a_mistake(capsys: pytest.CaptureFixture[str], words: list[str], meant: str, named: str) -> None:
    code, said, errors = outcome(capsys, jitc.main, *words)
    (line,) = errors.splitlines()
    assert (code, said) == (2, "")
    assert named in line and f"did you mean {meant}?" in line


@pytest.mark.parametrize("words", [["xyzzy"], ["status", "--xyzzy"], ["status", "xyzzy"]])
def test_a_word_like_no_other_is_not_guessed_at(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    code, _, errors = outcome(capsys, jitc.main, *words)
    assert code == 2 and "xyzzy" in errors and "did you mean" not in errors


@pytest.mark.parametrize("command", [["jitc", "preload-path"], ["jitc", "run", "--", "true"], ["jitc-proxyd"]])
def test_another_processor(command: list[str]) -> None:
    """The kernel says that it is one: setarch has it do that."""
    done = run_command(["setarch", "i686", str(BIN / command[0]), *command[1:]])
    assert (done.returncode, done.stdout) == (1, "")
    said = f"{command[0]}: jitc needs an x86_64 processor, and this system's is i686; use another machine\n"
    assert done.stderr == said


def test_an_old_python_and_an_old_system(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["jitc", "version"])
    monkeypatch.setattr("os.confstr", lambda name: "glibc 2.31")
    assert entry.jitc() == 1
    assert "needs glibc 2.34 or newer" in capsys.readouterr().err
    monkeypatch.setattr("os.confstr", lambda name: "glibc 2.34")
    assert entry.jitc() == 0
    monkeypatch.setattr("os.confstr", lambda name: None)  # musl
    assert entry.jitc_proxyd() == 1
    monkeypatch.undo()
    monkeypatch.setattr("sys.version_info", (3, 9, 2))
    assert entry.jitc() == 1
    assert capsys.readouterr().err.splitlines()[-1] == "jitc: jitc needs Python 3.10 or newer, and this is 3.9"
