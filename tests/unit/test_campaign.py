"""What runners of many programs share: nothing is left of a command, lines come at once, files are whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from toolkit.campaign import documents
from toolkit.campaign.processes import Limit, finished, lines, started
from toolkit.leaks import MARK, marked_processes, new_mark
from toolkit.waiting import patient, until

PIPED: dict[str, Any] = {"stdout": subprocess.PIPE}
#: It ends when it is interrupted, with more to say than a pipe holds.
TALKS = "import signal, sys, time\nsignal.signal(signal.SIGINT, lambda *_: sys.exit('x' * 100_000))\n"
TALKS += "print('there', flush=True)\ntime.sleep(600)\n"


def python(text: str) -> list[str]:
    return [sys.executable, "-c", text]


@pytest.mark.parametrize("how", ["ends", "raises", "is left"])
def test_nothing_of_a_command_is_left_when_its_block_is(how: str) -> None:
    mark = new_mark()
    command = ["bash", "-c", f"sleep 600 & sleep 600 & echo; {'' if how == 'ends' else 'wait'}"]
    with contextlib.suppress(KeyError), started(command, env={**os.environ, MARK: mark}, **PIPED) as process:
        assert process.stdout and process.stdout.readline()
        if how == "ends":
            process.wait(patient(30))
        if how == "raises":
            raise KeyError
    until(lambda: not marked_processes(mark), 30, "all of it has ended")


def test_a_command_that_is_asked_to_end_may_say_what_it_has_to() -> None:
    with started(python(TALKS), patience=patient(60), ask=signal.SIGINT, stderr=subprocess.PIPE, **PIPED) as process:
        assert process.stdout and process.stdout.readline() == b"there\n"
    assert process.returncode == 1


def test_a_command_over_its_limit_is_ended() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        finished(["sleep", "600"], 0.2)
    done = finished(python("import sys; print('out'); sys.exit('wrong')"), patient(60))
    assert (done.returncode, done.stdout, done.stderr) == (1, "out\n", "wrong\n")


def test_lines_end_with_the_process_though_another_one_has_its_output() -> None:
    with started(["bash", "-c", r"printf 'one\ntwo\n'; sleep 600 & printf three; exit 3"], **PIPED) as process:
        assert list(lines(process, Limit(patient(60)))) == ["one", "two", "three"]
    assert process.returncode == 3
    with started(["bash", "-c", r"printf 'one\n\nthree'"], **PIPED) as process:
        assert list(lines(process, Limit(patient(60)))) == ["one", "", "three"]


@pytest.mark.parametrize(
    "command", ["echo one; sleep 600", "echo one; exec >&-; sleep 600", "while true; do echo one; done"]
)
def test_lines_have_a_limit(command: str) -> None:
    with started(["bash", "-c", command], **PIPED) as process, pytest.raises(subprocess.TimeoutExpired):
        assert set(lines(process, Limit(1.0))) == {"one"}


def test_a_limit_that_begins_anew_is_for_each_line() -> None:
    limit, seen = Limit(patient(60)), []
    with started(["bash", "-c", "echo one; sleep 600"], **PIPED) as process, pytest.raises(subprocess.TimeoutExpired):
        for line in lines(process, limit):
            seen.append(line)
            limit.begin(0.3)
    assert seen == ["one"]


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path: Path) -> None:
    one = tmp_path / "new" / "one.json"
    documents.write(one, [1])
    with pytest.raises(TypeError):
        documents.write(one, [object()])
    assert documents.read(one, None) == [1]
    assert documents.read(tmp_path / "two.json", "nothing") == "nothing"


def test_a_cell_cannot_break_its_row() -> None:
    assert documents.table("a | b", [(1, "x | y")]) == "| a | b |\n|---|---|\n| 1 | x / y |\n"
