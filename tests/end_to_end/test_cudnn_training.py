"""Unmodified PyTorch with cuDNN on the fake libraries: its graph API, batch normalization, a recurrent layer.

The program is cudnn_training.py; after each step it tells a hash of all that it has on the device. Whatever fails, the
hashes are those of a run without a fault. Nothing here says anything about a real GPU.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from toolkit.fakes import fake_calls, fake_options, fake_system
from toolkit.job import ROOT
from toolkit.lockstep import Lockstep
from toolkit.service import Service, kill_at, kill_at_op
from toolkit.waiting import until
from toolkit.workplace import Workplace

from jitc.v1.control_pb2 import Fault

TRAINING = ROOT / "tests" / "end_to_end" / "cudnn_training.py"
STEPS = 6
#: An op that every run surely reaches.
LAST_OP = 440
RANDOM_OPS = 24
PHASES = ("forward", "backward", "optimizer", "boundary", "copy")
Start = Callable[..., Lockstep]


def serve(workplace: Workplace, environment: dict[str, str], *options: str) -> Service:
    libraries = fake_options("nccl", "cublas", "cublaslt", "nvrtc", "cudnn")
    return workplace.service(1, ("--device", "cuda", *libraries, *options), **environment)


@pytest.fixture(scope="module")
def expected(shared_workplace: Workplace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The lines of a run without a fault."""
    environment = fake_system(tmp_path_factory.mktemp("driver"), shared_workplace.env, DEVICES="1")
    program = Lockstep(serve(shared_workplace, environment), TRAINING)
    yield [program.step() for _ in range(STEPS)]
    program.kill()


def finish(program: Lockstep) -> None:
    """PyTorch may bring another cuDNN along than the one that the fake says it is."""
    status, said = program.finish()
    assert status == 0
    assert [line for line in said.splitlines() if not line.startswith("jitc: the service has cuDNN ")] == []


def test_a_step_changes_something(expected: list[str]) -> None:
    assert len(set(expected)) == STEPS
    assert [line.split()[0] for line in expected] == [str(number) for number in range(STEPS)]


def test_a_worker_lost_in_every_phase(
    workplace: Workplace, environment: dict[str, str], start: Start, expected: list[str], tmp_path: Path
) -> None:
    """Plans are made again in the new worker, with the engine that was chosen before."""
    service = serve(workplace, environment)
    program = start(service, TRAINING)
    assert program.step() == expected[0]
    for number, phase in enumerate(PHASES, 1):
        service.inject(kill_at(number, phase), 0)
        assert program.step() == expected[number], phase
        until(lambda: len(service.report()) == number, 60, f"the recovery of {phase}")  # noqa: B023
    finish(program)
    assert {one["outcome"] for one in service.report()} == {"recovered"}
    by_worker: dict[int, list[int]] = {}
    for call in fake_calls(tmp_path / "log"):
        if call.name == "cudnnBackendExecute" and not call.runs:
            by_worker.setdefault(call.pid, []).append(call.result)
    assert len(by_worker) == 1 + len(PHASES)
    first, *later = by_worker.values()
    assert 3000 in first, "PyTorch tried an engine that does not run"
    assert all(set(results) == {0} for results in later), "later workers execute what was chosen"


def test_errors_of_the_device(
    workplace: Workplace, environment: dict[str, str], start: Start, expected: list[str]
) -> None:
    service = serve(workplace, environment)
    program = start(service, TRAINING)
    lines = [program.step()]
    for number, (kind, phase) in enumerate((("illegal-access", "forward"), ("sticky-error", "backward")), 1):
        service.inject(kill_at(number, phase, kind=kind), 0)
        lines.append(program.step())
        until(lambda: len(service.report()) == number, 60, f"the recovery of {kind}")  # noqa: B023
    finish(program)
    assert lines == expected[:3]
    assert [one["cause"] for one in service.report()] == ["sticky-error"] * 2


def damage_plans(service: Service) -> None:
    """One bit of each file that the node keeps for programs; these load no modules."""
    files = [one for one in service.socket.with_name("proxyd.sock.d").rglob("held/*/*") if one.is_file()]
    assert files
    for path in files:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        with path.open("r+b") as file:
            file.write(data)


def test_damaged_descriptions_of_plans_are_not_used(
    workplace: Workplace, environment: dict[str, str], start: Start, expected: list[str], tmp_path: Path
) -> None:
    """The boundary has these plans: the next worker says so instead of loading one."""
    service = serve(workplace, environment)
    program = start(service, TRAINING)
    assert [program.step() for _ in range(2)] == expected[:2]
    damage_plans(service)
    lost = service.worker_pid(0)
    service.inject(Fault(kind="kill-worker"), 0, wait=10)
    program.tell()
    assert program.answer() == ""
    status, _ = program.finish()
    assert status != 0
    [recovery] = service.survived(1, "given up")
    assert recovery["outcome"].startswith("given up: ") and "is damaged" in recovery["outcome"]
    calls = [(one.name, one.pid) for one in fake_calls(tmp_path / "log") if not one.runs]
    executed = {pid for name, pid in calls if name == "cudnnBackendExecute"}
    assert executed == {lost}, "a plan that may be another one was executed"


@pytest.mark.parametrize("sent_by", ["itself", "another"])
def test_damaged_descriptions_of_plans_in_a_replay(
    sent_by: str, workplace: Workplace, environment: dict[str, str], start: Start
) -> None:
    """No boundary was made yet: the journal has what the program itself had sent of its plans, and nothing of those
    that another program on the node had sent before."""
    service = serve(workplace, environment)
    plain = start(service if sent_by == "another" else serve(workplace, environment), TRAINING, "evaluate")
    expected = [plain.step() for _ in range(3)]
    finish(plain)
    program = start(service, TRAINING, "evaluate")
    assert [program.step() for _ in range(2)] == expected[:2]
    damage_plans(service)
    service.inject(Fault(kind="kill-worker"), 0, wait=10)
    program.tell()
    assert program.answer() == (expected[2] if sent_by == "itself" else "")
    status, _ = program.finish()
    assert (status == 0) == (sent_by == "itself")
    recovery = service.report()[-1]
    if sent_by == "itself":
        assert (recovery["boundary"], recovery["outcome"]) == (0, "recovered")
    else:
        assert "the description of a cuDNN plan: image " in recovery["outcome"], recovery


def check_kill(op: int, workplace: Workplace, environment: dict[str, str], start: Start, expected: list[str]) -> None:
    service = serve(workplace, environment)
    service.inject(kill_at_op(op), 0)
    program = start(service, TRAINING)
    assert [program.step() for _ in range(STEPS)] == expected
    until(lambda: len(service.report()) == 1, 60, "the recovery")
    finish(program)
    assert [(one["cause"], one["outcome"]) for one in service.report()] == [("worker-death", "recovered")]


def random_ops() -> list[object]:
    """Ops anywhere in the run, the same in every run of the tests."""
    source = random.Random(11)
    ops = [source.randrange(1, LAST_OP) for _ in range(RANDOM_OPS)]
    return [pytest.param(op, marks=() if at < 2 else pytest.mark.slow) for at, op in enumerate(ops)]


@pytest.mark.sampled
@pytest.mark.parametrize("op", random_ops())
def test_a_worker_lost_at_an_op(
    op: int, workplace: Workplace, environment: dict[str, str], start: Start, expected: list[str]
) -> None:
    check_kill(op, workplace, environment, start, expected)
