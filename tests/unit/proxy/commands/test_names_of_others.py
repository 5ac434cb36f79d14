"""What programs and environments bring along: it steers no terminal, forges no line, and too much is told in one."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from made_report import hostile
from standin_client import PROXYD, Client, config

from jitc.proxy.commands.questions import command as commands
from jitc.proxy.commands.questions import text
from jitc.proxy.commands.timeline.trace import trace
from jitc.proxy.common.printable import LINE, printable
from jitc.proxy.service import Service
from jitc.v1 import control_pb2

EVIL = "job\x1b[2J\x1b]0;title\x07\njitc-proxyd: forged\r\u202e\udcff"


def test_a_program_s_name_is_shown_as_it_is(service: Service, capfd: pytest.CaptureFixture[str]) -> None:
    """Escapes and all, in status, report and log."""
    client = Client(service, job=EVIL.replace("\udcff", "") + "x" * 5000)
    client.send("fail")
    assert "fault" in client.call("get")
    (gpu, _) = json.loads(client.admin.Status(control_pb2.StatusRequest(), timeout=20).json)["gpus"]
    (session,) = gpu["sessions"]
    assert session["job"].startswith(r"job\x1b[2J\x1b]0;title\x07\njitc-proxyd: forged\r\u202ex")
    assert session["job"].isprintable() and len(session["job"]) < 250
    client.close()
    assert all(line.isprintable() for line in capfd.readouterr().err.splitlines())


def test_documents_of_an_older_service_are_shown_likewise() -> None:
    """Their names are as programs gave them."""
    session = dict.fromkeys(
        ("pid", "world_size", "worker_pid", "boundary", "copies_held_bytes", "journal_bytes", "ops_executed", "host",
         "diverged", "races"), 1,
    )  # fmt: skip
    session |= {"rank": -1, "state": "serving", "job": EVIL, "waiting_for": "", "reserve": {"boundary": 0}}
    turns = {"moved_out": 0, "bytes": 0, "seconds": 0.0, "waits": False}
    gpu = {"index": 1, "device": "software", "state": "serving", "spare": False, "memory_used": 0, "memory_total": 0}
    gpu |= {"recoveries": 0, "sessions": [session | {"turns": turns}]}
    shown = text.status({"shuffle": 0, "gpus": [gpu], "copies": {"held_bytes": 0, "limit_bytes": 0}})
    assert all(line.isprintable() for line in shown.split("\n"))
    assert r"job\x1b[2J" in shown


def test_a_report_of_an_older_service_is_shown_likewise(capsys: pytest.CaptureFixture[str]) -> None:
    """As text no text of others makes a line but the places of a race, which are lines; as JSON, and as a trace, all is
    there, in signs that any terminal shows. The page: test_report_page.py."""
    document = hostile(EVIL)
    lines, plain = text.report(document).split("\n"), text.report(hostile("plain")).split("\n")
    assert all(line.isprintable() for line in lines)
    assert [line for line in lines if line.lstrip().startswith("jitc-proxyd: forged")] == ["      jitc-proxyd: forged"]
    assert len(lines) == len(plain) + 2 and sum(r"job\x1b[2J" in line for line in lines) >= 10
    assert all(line.isprintable() for line in text.validation(document["validations"][0]).split("\n"))
    commands._show(document, True, text.report)
    shown = capsys.readouterr().out
    assert shown.isascii() and all(line.isprintable() for line in shown.splitlines())
    assert json.loads(shown) == document
    drawn = json.dumps(trace(document))
    assert drawn.isascii() and drawn.isprintable()


def test_a_very_long_name_ends_with_its_line() -> None:
    lines = text.report(hostile("x" * 3 * LINE)).split("\n")
    assert len(lines) == len(text.report(hostile("plain")).split("\n"))
    assert max(map(len, lines)) == LINE + 3


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("", ""), ("plain, ä and 漢", "plain, ä and 漢"), ("a\nb\tc", r"a\nb\tc"),
        ("\x7f\x9b\ud800", r"\x7f\x9b\ud800"),
        ("x" * 300, "x" * 300), ("x" * 301, "x" * 300 + "..."), ("\0" * 300, "\\x00" * 75 + "..."),
    ],
)  # fmt: skip
def test_printable(given: str, shown: str) -> None:
    assert printable(given) == shown


@pytest.mark.parametrize("number", [9, 14])
def test_an_environment_that_is_too_large(number: int, tmp_path: Path) -> None:
    """One line, and it says what to do. The kernel takes up to 128 KiB for one variable, and 2 MiB in all."""
    env = os.environ | {f"LARGE{index}": "x" * 128_000 for index in range(number)}
    words = [*PROXYD, "--gpus", "1", "--socket", str(tmp_path / "s")]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60, check=False)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "")
    assert "start jitc-proxyd with a smaller one" in line
    assert not list(tmp_path.iterdir())


def test_one_that_is_large_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for index in range(3):
        monkeypatch.setenv(f"LARGE{index}", "\x01" * 10_000)
    one = Service(config(tmp_path))
    try:
        one.start()
        Client(one).close()
    finally:
        one.stop()
