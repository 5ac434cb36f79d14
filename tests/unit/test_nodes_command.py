"""scripts/nodes.sh: nodes of namespaces that stay between commands."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from toolkit.nodes import saved, why_not
from toolkit.nodes.spaces import end, is_alive
from toolkit.tree import ROOT
from toolkit.waiting import patient

Command = Callable[..., "subprocess.CompletedProcess[str]"]
NODES = ROOT / "scripts" / "nodes.sh"
LIMIT = 60.0
#: Sets of this test, by their names.
FIRST, SECOND = (f"test-{os.getpid()}-{one}" for one in ("first", "second"))


def called(*words: str) -> subprocess.CompletedProcess[str]:
    """Its output is a pipe, which ends with the command although nodes stay."""
    return subprocess.run([NODES, *words], capture_output=True, text=True, timeout=patient(LIMIT), check=False)


@pytest.fixture
def command() -> Iterator[Command]:
    """The command on one set, which ends with the test, or with the next one if this is killed."""
    if reason := why_not():
        pytest.skip(reason)
    yield lambda *words: called("--name", FIRST, *words)
    for one in (FIRST, SECOND):
        called("--name", one, "down")


def reached(command: Command, source: int, target: int, seconds: float = LIMIT) -> bool:
    """Returns whether packets pass both ways: a connection is refused, since nothing listens."""
    code = f"import socket; one = socket.socket(); one.settimeout({seconds}); print(one.connect_ex(('n{target}', 9)))"
    return bool(command("sh", str(source), "python3", "-c", code).stdout == f"{errno.ECONNREFUSED}\n")


def cut_off(command: Command, source: int, target: int) -> bool:
    return not reached(command, source, target, 0.3)


def test_nodes_stay_between_commands_until_they_are_ended(command: Command) -> None:
    done = command("up", "2", "--owner", str(os.getpid()))
    assert (done.returncode, done.stdout, done.stderr) == (0, "n0 10.77.0.1\nn1 10.77.0.2\n", "")
    assert command("sh", "1", "cat", "/proc/sys/kernel/hostname").stdout == "n1\n"
    assert command("sh", "1", "sh", "-c", "exit 7").returncode == 7
    assert command("sh", "1", "--", "sh", "-c", "kill -9 $$").returncode == 128 + 9
    processes = saved.holders(FIRST)
    assert len(processes) == 3 and all(map(is_alive, processes))
    assert command("down").returncode == 0
    assert not any(map(is_alive, processes)) and not saved.exists(FIRST)


def test_faults_stay_between_commands(command: Command) -> None:
    command("up", "2", "--owner", str(os.getpid()))
    assert reached(command, 0, 1)
    assert command("cut", "0", "1").returncode == 0
    assert cut_off(command, 0, 1)
    for words in (("rate", "0", "100"), ("loss", "1", "100"), ("heal", "0")):
        assert command(*words).returncode == 0, words
    assert cut_off(command, 0, 1)  # the loss is the other node's
    command("heal", "1")
    assert reached(command, 0, 1)
    assert command("one-way", "0").returncode == 0
    assert cut_off(command, 1, 0)


def test_a_node_is_killed_and_comes_back(command: Command) -> None:
    command("up", "2", "--owner", str(os.getpid()))
    processes = saved.holders(FIRST)
    assert command("kill", "1").returncode == 0
    assert [is_alive(one) for one in processes] == [True, True, False]
    assert command("sh", "1", "true").stderr == "nodes.sh: there is no node 1; there are [0]\n"
    assert command("add", "1").returncode == command("add").returncode == 0
    assert reached(command, 0, 1) and reached(command, 2, 1)


def test_what_cannot_be_done_is_said_in_a_line(command: Command) -> None:
    assert command("cut", "0").stderr == "nodes.sh: there are no nodes; make some: nodes.sh up 2\n"
    command("up", "1", "--owner", str(os.getpid()))
    for words, text in (
        (("up", "1"), "there are nodes already; end them: nodes.sh down"),
        (("cut", "3"), "there is no node 3; there are [0]"),
        (("loss", "0", "200"), "a loss of 200 %"),
        (("add", "0"), "node 0 is alive"),
        (("sh", "0", "/no/such/command"), "[Errno 2] No such file or directory: '/no/such/command'"),
    ):
        done = command(*words)
        assert (done.returncode, done.stderr) == (1, f"nodes.sh: {text}\n")
    assert "is no name" in called("--name", "../x", "down").stderr


def test_a_set_whose_owner_was_killed_is_swept_away(command: Command) -> None:
    with subprocess.Popen(["sleep", "600"]) as owner:
        command("up", "1", "--owner", str(owner.pid))
        processes = saved.holders(FIRST)
        owner.kill()
    assert called("--name", SECOND, "up", "1", "--owner", str(os.getpid())).returncode == 0
    assert not any(map(is_alive, processes)) and not saved.exists(FIRST)
    assert all(map(is_alive, saved.holders(SECOND)))


def test_nodes_that_have_ended_are_cleared_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: Command
) -> None:
    """Alone: otherwise a test beside this one clears them up."""
    monkeypatch.setenv("JITC_TEST_NODES", str(tmp_path))
    monkeypatch.setattr(saved, "FOLDER", tmp_path)
    command("up", "1", "--owner", str(os.getpid()))
    switch, node = saved.holders(FIRST)
    end(switch)
    assert command("cut", "0").stderr == "nodes.sh: the nodes have ended; clear up: nodes.sh down\n"
    assert is_alive(node)
    assert command("up", "1", "--owner", str(os.getpid())).returncode == 0
    assert not is_alive(node)
    assert command("down").returncode == 0


def test_help_names_every_verb() -> None:
    text = called("--help").stdout
    verbs = ("up", "add", "cut", "heal", "one-way", "loss", "rate", "kill", "sh", "down")
    assert not [one for one in verbs if f"scripts/nodes.sh {one}" not in text]
