"""What programs say to NVIDIA's libraries by their environment is heard in their workers, on the fake libraries.

The fakes note what they see of the environment (tests/fakes). Nothing here says anything about a real GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolkit.fakes import fake_calls, fake_options
from toolkit.job import PRELOAD, ROOT
from toolkit.lockstep import Lockstep, all_steps, begin_ranks, finish_all
from toolkit.service import Service, kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

HERE = ROOT / "tests" / "end_to_end"
OPTIONS = ("--device", "cuda", *fake_options("nccl", "cublas", "cublaslt", "nvrtc"))
WANTED = {
    "NCCL_ALGO": "Ring",
    "NCCL_IB_HCA": "=mlx5_0:1,mlx5_1:1",
    "CUDA_DEVICE_MAX_CONNECTIONS": "1",
    "NVIDIA_TF32_OVERRIDE": "0",
    "CUDA_MODULE_LOADING": "EAGER",
}
#: Must not reach a worker.
OTHERS = {"NCCL_NET_PLUGIN": "mine", "NCCL_HOSTID": "mine", "LD_MINE": "1", "PYTHONMINE": "1", "CUDA_CACHE_PATH": "/m"}
LIBRARIES = {"cuInit", "cublasCreate_v2", "ncclCommInitRankConfig"}
Start = Callable[..., Lockstep]


def seen(log: Path) -> dict[int, dict[str, dict[str, str]]]:
    """By process and call: the environment at the newest one."""
    found: dict[int, dict[str, dict[str, str]]] = {}
    for one in fake_calls(log):
        if "environment" in one.args:
            lines = [line.partition("=") for line in one.args["environment"].splitlines()]
            found.setdefault(one.pid, {})[one.name] = {name: value for name, _, value in lines}
    return found


def workers(service: Service) -> list[Any]:
    return [service.worker_pid(gpu) for gpu in range(2)]


def test_every_worker_of_a_program(
    workplace: Workplace, environment: dict[str, str], start: Start, tmp_path: Path
) -> None:
    """The first ones, those after a loss, and one that another service has begun: the libraries see the same."""
    settings = environment | {"JITC_FAKE_VARIABLES": "fixed", "NCCL_ALGO": "Tree", "NCCL_PROTO": "LL"}
    service = workplace.service(2, OPTIONS, **settings)
    warm = workers(service)
    training = HERE / "cuda_training.py"
    own = environment | WANTED | OTHERS
    ranks = begin_ranks([start(service, training, gpu, 2, gpu, env=own) for gpu in range(2)])
    steps = all_steps(ranks, 2)
    served = {*workers(service)}
    assert not served & {*warm}, "workers that have opened the libraries already cannot take them"
    service.inject(kill_at(3), 0)
    steps += all_steps(ranks, 3)
    service.survived(1)
    served |= {*workers(service)}
    service.replace()
    service.inject(kill_at(7), 1)
    steps += all_steps(ranks, 3)
    until(lambda: len(service.report()) == 2, 60, "the second loss is told of")
    served |= {*workers(service)}
    finish_all(ranks)
    assert len(served) == 4 and len({str(one) for one in steps}) == len(steps)
    heard = seen(tmp_path / "log")
    for worker in served:
        assert set(heard[worker]) == LIBRARIES, (worker, heard[worker].keys())
        for saw in heard[worker].values():
            assert {name: saw.get(name) for name in WANTED} == WANTED
            assert saw["NCCL_PROTO"] == "LL", "the service's own, which the program says nothing of"
            assert not {*OTHERS} & {*saw}
    assert "PATH" in heard[worker]["cuInit"]
    until(lambda: None not in workers(service), 30, "GPUs without a program have a worker again")
    assert all(seen(tmp_path / "log")[worker]["cuInit"].get("NCCL_ALGO") == "Tree" for worker in workers(service))


def test_a_program_that_says_nothing_new(
    workplace: Workplace, environment: dict[str, str], start: Start, tmp_path: Path
) -> None:
    """What the service has itself, and what the libraries do anyhow, costs no worker of its own."""
    service = workplace.service(2, OPTIONS, **environment, NCCL_ALGO="Tree")
    warm = workers(service)
    program = start(service, HERE / "environment_steps.py", 0, env=environment | {"CUDA_MODULE_LOADING": "LAZY"})
    for line in ("memory", "blas", "join"):
        program.tell(line)
        assert program.answer() == line
    assert workers(service) == warm
    assert program.finish() == (0, "")


def test_what_comes_too_late_is_named_once(
    workplace: Workplace, environment: dict[str, str], start: Start, tmp_path: Path
) -> None:
    service = workplace.service(2, OPTIONS, **environment)
    program = start(service, HERE / "environment_steps.py", 0)
    lines = ["NCCL_ALGO=Ring", "memory", "blas", "NCCL_PROTO=LL", "NVIDIA_TF32_OVERRIDE=0", "LD_MINE=1"]
    for line in [*lines, "blas", "join", "join"]:
        program.tell(line)
        assert program.answer() == line
    worker = service.worker_pid(0)
    status, said = program.finish()
    assert status == 0
    (line,) = said.splitlines()
    assert line.startswith("jitc: too late to have an effect: NCCL_PROTO, NVIDIA_TF32_OVERRIDE;"), line
    assert worker is not None
    saw = seen(tmp_path / "log")[worker]["ncclCommInitRankConfig"]
    assert saw["NCCL_ALGO"] == "Ring" and "NCCL_PROTO" not in saw


def test_the_preloaded_library_is_no_workers(workplace: Workplace, environment: dict[str, str], start: Start) -> None:
    """LD_PRELOAD is in each of these programs."""
    service = workplace.service(2, OPTIONS, **environment)
    program = start(service, HERE / "environment_steps.py", 0, env=environment | {"NCCL_ALGO": "Ring"})
    program.tell("memory")
    assert program.answer() == "memory"
    assert str(PRELOAD) not in Path(f"/proc/{service.worker_pid(0)}/maps").read_text()
    assert program.finish() == (0, "")
