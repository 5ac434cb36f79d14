"""Jobs that torchrun starts again after a rank has failed: the next attempt trains to its end, and ends.

PyTorch has one store for all attempts. A rank that is told of the other's end before torchrun has ended it leaves a
request to write dumps there, and the ranks of the next attempt obey: they are ended by SIGABRT while they train.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from toolkit.job import PRELOAD, ROOT
from toolkit.service import BIN, Service, kill_at
from toolkit.workplace import Workplace

PROGRAM = ROOT / "tests" / "end_to_end" / "restarted_steps.py"
LATE = ROOT / "tests" / "end_to_end" / "stale_id.py"
STEPS, FAILS = 30, 8
#: Of PyTorch: after so many seconds a rank that has seen the request is ended.
HEARTBEAT = "5"
#: The worker of this GPU is lost in the minibatch after this boundary, in this phase.
BEFORE, WITHOUT_ITS_PEER, AFTER = (1, 3, "backward"), (0, FAILS, ""), (1, 20, "optimizer")


def torchrun(service: Service, *program: object, **env: str) -> subprocess.CompletedProcess[str]:
    environ = service.env | {"LD_PRELOAD": str(PRELOAD), "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": HEARTBEAT} | env
    command = [str(BIN / "torchrun"), "--standalone", "--nproc-per-node", "2", "--max-restarts", "1"]
    return subprocess.run(
        [*command, *map(str, program)], env=environ, capture_output=True, text=True, timeout=200, check=False
    )


def run(service: Service, folder: Path, **env: str) -> dict[str, list[str]]:
    """What each rank of each attempt has written."""
    folder.mkdir()
    done = torchrun(service, PROGRAM, folder, **env)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output[-6000:]
    assert output.count("ValueError: once") == 1
    assert "dump signal from another rank" not in output
    return {path.name: path.read_text().splitlines() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def calm(shared_workplace: Workplace) -> dict[str, list[str]]:
    """Without a fault of a GPU."""
    service = shared_workplace.service(2)
    lines = run(service, shared_workplace.folder / "calm")
    assert service.report() == [], "no rank has had an error of its own: torchrun was faster"
    return lines


def test_the_next_attempt_trains_to_its_end(calm: dict[str, list[str]]) -> None:
    counts = {name: len(lines) for name, lines in calm.items()}
    assert counts == {"0-0": FAILS, "0-1": FAILS, "1-0": STEPS, "1-1": STEPS}
    assert calm["1-0"] == calm["1-1"]
    assert calm["1-0"][:FAILS] == calm["0-0"] == calm["0-1"]


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param((BEFORE,), id="before", marks=pytest.mark.slow),
        pytest.param((WITHOUT_ITS_PEER,), id="without its peer", marks=pytest.mark.slow),
        pytest.param((AFTER,), id="after", marks=pytest.mark.slow),
        pytest.param((BEFORE, WITHOUT_ITS_PEER, AFTER), id="all"),
    ],
)
def test_workers_are_lost_around_the_restart(
    workplace: Workplace, calm: dict[str, list[str]], faults: tuple[tuple[int, int, str], ...]
) -> None:
    service = workplace.service(2)
    for gpu, boundary, phase in faults:
        service.inject(kill_at(boundary, phase), gpu)
    assert run(service, workplace.folder / "struck") == calm
    assert len(service.injected()) == len(faults)
    recovered = [one for one in service.report() if one["outcome"] == "recovered"]
    assert len(recovered) >= len(set(faults) - {WITHOUT_ITS_PEER}), service.report()


def test_on_request_each_attempt_has_a_store_of_its_own(workplace: Workplace, calm: dict[str, list[str]]) -> None:
    """Nothing of the first attempt is found in the second one, also where rank 1 is first there."""
    service = workplace.service(2)
    assert run(service, workplace.folder / "unshared", JITC_KNOWN_FIXES="1") == calm
    meeting = workplace.folder / "meeting"
    os.mkfifo(meeting)
    done = torchrun(service, LATE, meeting, JITC_KNOWN_FIXES="1")
    output = done.stdout + done.stderr
    assert done.returncode == 0, output[-6000:]
    assert [f"attempt 1 rank {rank}: 2.0" in output for rank in range(2)] == [True, True]
