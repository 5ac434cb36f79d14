"""What CUDA promises about work that is done (docs/promises.md), on both devices, with real processes.

The programs are promise_steps.py, on the runtime's own functions, and event_steps.py, on PyTorch.
"""

from __future__ import annotations

import ast
import os
import signal
import sys
from collections.abc import Callable, Iterator

import pytest
from toolkit.fakes import fake_compiler, fake_system
from toolkit.job import ROOT, run_command
from toolkit.lockstep import Lockstep
from toolkit.service import BIN, Service
from toolkit.workplace import Workplace

FOLDER = ROOT / "tests" / "end_to_end"
PROGRAM, EVENTS = FOLDER / "promise_steps.py", FOLDER / "event_steps.py"
DEVICES = ("software", "cuda")
TRIES = 20
TOLD, GOOD = "10", "4"
Start = Callable[..., Lockstep]


def promises() -> list[str]:
    texts = [(FOLDER / f"promise_{name}.py").read_text() for name in ("waits", "steps")]
    found = [one for text in texts for one in ast.parse(text).body if isinstance(one, ast.FunctionDef)]
    return [one.name for one in found if any(ast.unparse(each) == "promise" for each in one.decorator_list)]


def start_service(workplace: Workplace, device: str) -> Service:
    if device == "software":
        return workplace.service(2)
    folder = workplace.folder / "driver"
    folder.mkdir()
    environment = fake_system(folder, workplace.env, DEVICES="2", LOG=str(workplace.folder / "log"))
    return workplace.service(2, ("--device", "cuda", *fake_compiler()), **environment)


@pytest.fixture(scope="module", params=DEVICES)
def program(request: pytest.FixtureRequest, shared_workplace: Workplace) -> Iterator[Lockstep]:
    """One for all promises: each leaves its streams as it found them."""
    running = Lockstep(start_service(shared_workplace, request.param), PROGRAM)
    yield running
    running.close()
    said, errors = running.process.communicate(timeout=30)
    assert (running.process.returncode, said, errors) == (0, "", "")


@pytest.mark.sampled
@pytest.mark.parametrize("name", promises())
def test_promise(program: Lockstep, name: str) -> None:
    program.tell(f"{name} {TRIES}")
    assert program.answer() == str(TRIES)


def test_each_promise_has_its_line_in_the_table() -> None:
    table = (ROOT / "docs" / "promises.md").read_text()
    assert promises()
    assert [name for name in promises() if f"`{name}`" not in table] == []


@pytest.mark.parametrize("device", DEVICES)
def test_what_was_told_is_never_taken_back(workplace: Workplace, device: str, start: Start) -> None:
    """A worker is lost after the program was told; it is told the same without a worker, and by those that follow.

    What it did because it knew comes in the same order again: memory that it used again has its new content.
    """
    service = start_service(workplace, device)
    program = start(service, PROGRAM)

    def said(line: str) -> str:
        program.tell(line)
        return program.answer()

    for losses in range(1, 4):
        assert said("know") == TOLD
        os.kill(service.status()["gpus"][0]["worker_pid"], signal.SIGKILL)
        assert said("recall") == TOLD
        assert said("good") == GOOD
        service.survived(losses)
        assert said("recall") == TOLD
        assert said("event_query_after_event_synchronize 5") == "5"
        assert said("bytes_are_there_when_the_event_is_done 2") == "2"
    assert program.finish() == (0, "")


def test_events_of_pytorch(workplace: Workplace) -> None:
    command = [
        str(BIN / "jitc"),
        "run",
        "--device",
        "software",
        "--gpus",
        "1",
        "--",
        sys.executable,
        str(EVENTS),
        "200",
    ]
    done = run_command(command, env=workplace.env, timeout=150)
    assert (done.returncode, done.stdout) == (0, "wrong 0 0 0 0 0 0 0\n"), done.stderr
