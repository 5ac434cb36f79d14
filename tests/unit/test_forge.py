"""Programs from a process that has loaded PyTorch already: as if they had been started by themselves."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from toolkit.forge_client import Forge
from toolkit.job import PRELOAD, base_environment
from toolkit.leaks import MARK, marked_processes, new_mark
from toolkit.waiting import until

ENV = base_environment({MARK: "0" * 16})
#: Prints what a program sees of itself.
LOOKS = """import __main__, json, os, sys
env = dict(os.environ)
print(json.dumps([__name__, sys.argv, sys.path[0], os.getcwd(), env, __main__.__file__, os.getpid() == os.getpgid(0)]))
"""


@pytest.fixture(scope="module")
def forge() -> Iterator[Forge]:
    one = Forge(ENV)
    yield one
    one.close()


def written(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(text)
    return path


def test_a_program_sees_what_it_would_see_by_itself(forge: Forge, tmp_path: Path) -> None:
    path, env = written(tmp_path, LOOKS), ENV | {MARK: new_mark(), "JITC_SOCKET": "/nowhere"}
    del env["PYTHON"]
    command = [str(path), "one", "two words"]
    told = forge.start_piped(command, env).communicate(60)
    by_itself = subprocess.run(
        [sys.executable, *command], env=env, capture_output=True, text=True, check=True, start_new_session=True
    )
    assert told[1] == by_itself.stderr == ""
    assert json.loads(told[0]) == json.loads(by_itself.stdout)


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        ("", 0, ""),
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('words')", 1, "words\n"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV, ""),
        ("import atexit, os; atexit.register(os._exit, 5)", 5, ""),
    ],
)
def test_how_a_program_ends(text: str, status: int, says: str, forge: Forge, tmp_path: Path) -> None:
    one = forge.start_piped([str(written(tmp_path, text))], ENV)
    _, errors = one.communicate(60)
    assert one.returncode == status and errors.endswith(says) and bool(errors) == bool(says), errors


def test_its_mark_is_its_own_and_it_can_be_killed(forge: Forge, tmp_path: Path) -> None:
    path = written(tmp_path, "import sys; print('there', flush=True); sys.stdin.read()")
    marks = [new_mark(), new_mark()]
    programs = [forge.start_piped([str(path)], ENV | {MARK: mark}) for mark in marks]
    for one, mark in zip(programs, marks, strict=True):
        assert one.stdout is not None and one.stdout.readline() == "there\n"
        assert one.pid in marked_processes(mark) and one.poll() is None
    programs[0].kill()
    assert programs[0].wait(60) == -signal.SIGKILL
    assert programs[1].communicate(60) == ("", "") and programs[1].returncode == 0


def test_ranks_of_which_one_fails(forge: Forge, tmp_path: Path) -> None:
    """As of ranks.py: the others are ended."""
    text = "import os, sys, threading\nsys.exit(3) if os.environ['RANK'] == '1' else threading.Event().wait()\n"
    mark = new_mark()
    one = forge.start_piped([str(written(tmp_path, text))], ENV | {MARK: mark}, ranks=3)
    _, errors = one.communicate(60)
    assert one.returncode == 1 and errors.startswith("rank 1 (pid ") and errors.endswith("ended with 3\n"), errors
    assert not marked_processes(mark)


def test_ranks_are_ended_with_what_started_them(forge: Forge, tmp_path: Path) -> None:
    path, mark = (
        written(tmp_path, "import os, threading\nos.write(1, b'there\\n')\nthreading.Event().wait()\n"),
        new_mark(),
    )
    one = forge.start_piped([str(path)], ENV | {MARK: mark}, ranks=2)
    assert one.stdout is not None
    assert [one.stdout.readline() for _ in range(2)] == ["there\n"] * 2
    one.send_signal(signal.SIGTERM)
    assert one.wait(60) == 128 + signal.SIGTERM
    assert one.communicate(60) == ("", "")  # nobody has its output any more


def test_a_rank_is_ended_that_was_being_started_when_the_signal_came() -> None:
    """The launcher had begun it, and did not know of it yet."""
    text = "import os, signal, sys\nfrom toolkit import ranks\n"
    text += "def begin(program, env):\n"
    text += "    one = ranks.start(program, env)\n"
    text += "    print(one.pid, flush=True)\n"
    text += "    os.kill(os.getpid(), signal.SIGTERM)\n"
    text += "    return one\n"
    text += "sys.exit(ranks.main(2, ['-c', 'import threading; threading.Event().wait()'], begin))\n"
    env = ENV | {"PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen([sys.executable, "-c", text], env=env, stdout=subprocess.PIPE, text=True) as launcher:
        assert launcher.stdout is not None
        begun = int(launcher.stdout.readline())
        try:
            assert launcher.wait(60) == 128 + signal.SIGTERM
            assert not Path(f"/proc/{begun}").exists()
            assert launcher.stdout.read() == "", "no other one was begun after it"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(begun, signal.SIGKILL)


def test_it_serves_only_those_who_have_its_variables(forge: Forge) -> None:
    assert forge.serves(ENV | {MARK: new_mark(), "JITC_SOCKET": "/nowhere", "TMPDIR": "/nowhere"})
    assert not forge.serves(ENV | {"LD_PRELOAD": str(PRELOAD)})
    assert not forge.serves(ENV | {"JITC_KNOWN_FIXES": "1"})


def test_it_ends_with_who_uses_it(tmp_path: Path) -> None:
    """However that ends."""
    text = "import os\nfrom toolkit.forge_client import Forge\none = Forge(dict(os.environ))\n"
    text += f"assert one.start_piped([{str(written(tmp_path, ''))!r}], one.env).wait() == 0\n"
    text += "print(one._process.pid, flush=True)\nos.kill(os.getpid(), 9)\n"
    env = ENV | {"PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", text], env=env, check=False, timeout=200, stdout=subprocess.PIPE, text=True
    )
    assert done.returncode == -signal.SIGKILL
    until(lambda: not Path(f"/proc/{int(done.stdout)}").exists(), 30, "the process has ended")
