"""Programs that load libcuda, libcudart and cuBLAS by path and call them with ctypes: served, and recovered like any
other; what is not served is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from toolkit.forge_client import run_python
from toolkit.job import PRELOAD, ROOT
from toolkit.kills import Killer
from toolkit.lockstep import Lockstep, all_steps, finish_all
from toolkit.service import Service
from toolkit.workplace import Workplace

PROGRAM = ROOT / "tests" / "end_to_end" / "by_path_steps.py"
KILLED, SEED = (1, 0, 1, 0), 3
SECONDS = 60.0
#: Of CUDA, as its libraries' names have it.
VERSION = (torch.version.cuda or "").partition(".")[0]
REFUSED = [
    "jitc: cublasSaxpy_v2 is not supported: only matrix products (gemm, gemv, dot) of real numbers are served: "
    "let PyTorch's own operator do it",
    f"jitc: cublasSaxpy of libcublas.so.{VERSION} is not served: "
    "the program is told that it is not there (docs/coverage.md)",
    "jitc: cudnnCreate is not supported: the software device has no cuDNN: leave torch.backends.cudnn.enabled off",
]
Start = Callable[..., Lockstep]


def begin(start: Start, service: Service, folder: Path) -> list[Lockstep]:
    folder.mkdir()
    return [start(service, PROGRAM, rank, folder) for rank in range(2)]


def end(ranks: list[Lockstep]) -> None:
    for one in ranks:
        one.close()
    finish_all(ranks)


def test_workers_are_killed_at_any_time(workplace: Workplace, start: Start, tmp_path: Path) -> None:
    service = workplace.service(2)
    struck, found = begin(start, service, tmp_path / "struck"), []
    with Killer(service, KILLED, SEED) as killer:
        for _ in killer.rounds():
            found += all_steps(struck, 1)
            assert all(found[-1]), [one.finish() for one in struck]
    end(struck)
    assert [one["outcome"] for one in service.report()] == ["recovered"] * len(KILLED)
    calm = begin(start, service, tmp_path / "calm")
    assert all_steps(calm, len(found)) == found
    end(calm)
    assert len({line for step in found for line in step}) == 2 * len(found)  # each step changes what is held
    assert not service.divergences()


def test_what_is_not_served_is_named(workplace: Workplace) -> None:
    environment = workplace.service(1).env | {"LD_PRELOAD": str(PRELOAD)}
    done = run_python([str(PROGRAM), "refused"], environment, SECONDS)
    assert (done.returncode, done.stdout.split()) == (0, ["15", "False", "3000"]), done.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith("jitc: ")] == REFUSED
