"""torch.compile on the software device: results are those without it, the same to the last bit in each run, also when
workers are lost in the middle of compiled code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from toolkit.inductor import QUICK
from toolkit.job import PRELOAD, Script, run_command
from toolkit.jobs import JOBS
from toolkit.record import assert_close, assert_identical
from toolkit.service import Service, kill_at, kill_at_op
from toolkit.workplace import Workplace

PROGRAM = Path(__file__).with_name("compiled_steps.py")
STEPS = 6
#: A compiler takes long on a small machine that has other things to do.
SECONDS = 400.0
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Where Inductor keeps what it has compiled, for all programs here."""
    return QUICK | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path_factory.mktemp("inductor"))}


def say(service: Service, cache: dict[str, str], function: str, **env: str) -> list[str]:
    """What a function of compiled_steps.py prints."""
    environment = service.env | cache | env | {"LD_PRELOAD": str(PRELOAD)}
    done = run_command([sys.executable, str(PROGRAM), function], environment, SECONDS)
    assert done.returncode == 0, done.stderr[-6000:]
    assert "libcuda.so" not in done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_results_and_gradients_are_those_without(workplace: Workplace, cache: dict[str, str]) -> None:
    """With several threads in a kernel, and the same bits in each run."""
    service = workplace.service(1, ("--threads", "3"))
    lines = say(service, cache, "same")
    assert len(lines) == 4
    assert [line for line in lines if "[True, True, True]" not in line] == []
    assert say(service, cache, "same") == lines
    assert service.report() == []


@pytest.mark.slow
def test_a_worker_lost_in_compiled_steps(workplace: Workplace, cache: dict[str, str]) -> None:
    """With dropout, whose random numbers are those of the run without a fault."""
    service = workplace.service(1)
    expected = say(service, cache, "train")
    assert len(set(expected)) == len(expected) == STEPS
    assert say(service, cache, "train") == expected
    assert service.report() == []
    faults = (
        kill_at(0, "forward", 4), kill_at(1, "backward", 6), kill_at(2, "forward", 2),
        kill_at(3, "optimizer", 1), kill_at(4, "boundary"),
    )  # fmt: skip
    for fault in faults:
        service.inject(fault, 0)
    assert say(service, cache, "train") == expected
    service.survived(len(faults))
    assert len(service.injected()) == len(faults)


@pytest.mark.sampled
@pytest.mark.parametrize("op", [33, *(pytest.param(op, marks=pytest.mark.slow) for op in (20, 70, 140))])
def test_a_worker_lost_at_an_op(op: int, workplace: Workplace, cache: dict[str, str]) -> None:
    service = workplace.service(1)
    expected = say(service, cache, "train")
    service.inject(kill_at_op(op), 0)
    assert say(service, cache, "train") == expected
    service.survived(1)
    assert len(service.injected()) == 1


@pytest.mark.slow
def test_a_compiled_gpt_of_two_ranks_with_workers_lost(workplace: Workplace, cache: dict[str, str]) -> None:
    compiled = JOBS["gpt"].with_arguments("--compile")

    def run(script: Script, service: Service) -> list:  # type: ignore[type-arg]
        return workplace.job(script, service, **cache).finish(SECONDS).successful().records

    service = workplace.service(2)
    expected = run(compiled, service)
    assert_close(expected, run(JOBS["gpt"], service), 1e-4)
    assert service.report() == []
    faults = (kill_at(1, "forward", 5), kill_at(2, "backward", 5), kill_at(3, "optimizer", 3))
    for gpu, fault in zip((1, 0, 1), faults, strict=True):
        service.inject(fault, gpu)
    assert_identical(run(compiled, service), expected)
    service.survived(len(faults))
    assert len(service.injected()) == len(faults)


@pytest.mark.slow
def test_cuda_graphs_of_compiled_code_with_a_worker_lost(workplace: Workplace, cache: dict[str, str]) -> None:
    service = workplace.service(1)
    expected = say(service, cache, "graphs")
    assert expected[-1] == "refused 0" and len(set(expected)) == STEPS + 1
    for fault in (kill_at(2, "forward", 1), kill_at(4, "backward", 0)):
        service.inject(fault, 0)
    assert say(service, cache, "graphs") == expected
    service.survived(2)


@pytest.mark.sampled
def test_shapes_and_random_numbers(workplace: Workplace, cache: dict[str, str]) -> None:
    service = workplace.service(1)
    assert say(service, cache, "shapes") == [str([True] * 3), "1"]
    [line] = say(service, cache, "random")
    assert line.split()[:2] == ["True", "False"]
    assert say(service, cache, "random") == [line]


@pytest.mark.slow
def test_the_order_of_compiled_kernels_is_checked(workplace: Workplace, cache: dict[str, str]) -> None:
    service = workplace.service(1, ("--check-order",))
    plain = say(service, cache, "streams")
    assert service.races() == []
    say(service, cache, "race")
    [race] = service.races()
    assert "jitc::host_kernel" in str(race) and "compiled_steps.py" in str(race), race
    shuffled = workplace.service(1, ("--shuffle", "5"))
    assert say(shuffled, cache, "streams") == plain


def test_a_wrong_index_is_a_device_side_assert(workplace: Workplace, cache: dict[str, str]) -> None:
    right, wrong = say(workplace.service(1), cache, "wrong_index")
    assert right == "True" and "device-side assert triggered" in wrong
