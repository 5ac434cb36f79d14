"""Jobs that torchrun starts again after a rank has failed: the next attempt trains to its end, and ends.

PyTorch has one store for all attempts, in which ranks find unique ids of the attempt before, which they cannot join,
and its request to write dumps, by which they are ended while they train (SIGABRT). The programs here do nothing about
it: client_shim has torchrun give each attempt a store of its own.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from toolkit.job import PRELOAD, ROOT
from toolkit.ranks import free_port
from toolkit.service import BIN, Service, kill_at
from toolkit.workplace import Workplace

PROGRAM = ROOT / "tests" / "end_to_end" / "restarted_steps.py"
FIRST = ROOT / "tests" / "end_to_end" / "stale_id.py"
ALONE = ROOT / "tests" / "end_to_end" / "left_alone.py"
SHARED = {"JITC_STORE_PER_ATTEMPT": "0"}
STEPS, FAILS = 30, 8
#: Of PyTorch: after so many seconds a rank that has seen the request is ended.
HEARTBEAT = "5"
#: The worker of this GPU is lost in the minibatch after this boundary, in this phase.
BEFORE, WITHOUT_ITS_PEER, AFTER = (1, 3, "backward"), (0, FAILS, ""), (1, 20, "optimizer")


def torchrun(
    service: Service, *program: object, meets: tuple[str, ...] = ("--standalone",), **env: str
) -> subprocess.CompletedProcess[str]:
    """meets: how torchrun makes its store."""
    environ = service.env | {"LD_PRELOAD": str(PRELOAD), "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": HEARTBEAT} | env
    command = [str(BIN / "torchrun"), *meets, "--nproc-per-node", "2", "--max-restarts", "1"]
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


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("standalone", "env"),
    [
        pytest.param(True, {}, id="standalone"),
        pytest.param(False, {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}, id="static"),
    ],
)
def test_a_program_as_it_is(standalone: bool, env: dict[str, str], workplace: Workplace) -> None:
    """Also where rank 1 comes first, and asks for an id that rank 0 has yet to make."""
    service = workplace.service(2)
    meeting = workplace.folder / "meeting"
    os.mkfifo(meeting)
    meets = ("--standalone",) if standalone else ("--master-port", str(free_port()))
    done = torchrun(service, FIRST, meeting, meets=meets, **env)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output[-6000:]
    assert [f"attempt 1 rank {rank}: 2.0" in output for rank in range(2)] == [True, True]
    first, second = re.findall(r"attempt \d: the first rank finds (\d+) keys", output)
    assert int(second) <= int(first), "what torchrun itself keeps there, and nothing of the first attempt"


@pytest.mark.sampled
@pytest.mark.parametrize("shared", [False, True])
def test_a_launcher_that_is_slower_than_5_s(shared: bool, workplace: Workplace) -> None:
    """The rank that is left has the error by itself; the request for dumps that this leaves hurts no later attempt."""
    service = workplace.service(2)
    done = torchrun(service, ALONE, TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC="500", **(SHARED if shared else {}))
    output = done.stdout + done.stderr
    error = r"jitc: GPU 0: .*this communicator has ended: its rank 1 of 2, process \d+, ended at [\d:]+(.*)"
    (advice,) = re.findall(error, output)
    if shared:
        assert advice.startswith("; this torchrun keeps one store for all attempts (a defect of PyTorch): ")
        assert re.search(r"attempt 1 rank \d: request True", output), output[-6000:]
        return
    assert advice == ""
    assert done.returncode == 0, output[-6000:]
    assert [f"attempt 1 rank {rank}: request False" in output for rank in range(2)] == [True, True]
    assert [f"attempt 1 rank {rank}: 2.0" in output for rank in range(2)] == [True, True]
