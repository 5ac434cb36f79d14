"""Launchers that start a job over two nodes: torchrun, with PyTorch's store outside of the job and on a node of it, and
ranks that take what they are from Slurm or MPI, by the lines of docs/how-to.md.

No Slurm and no MPI is called: the variables are set that these give to a rank.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from toolkit.cluster import Cluster, started, why_not
from toolkit.job import PRELOAD, ROOT, Script, base_environment
from toolkit.jobs import JOBS
from toolkit.ranks import free_port
from toolkit.record import Record, assert_identical, read_records
from toolkit.service import BIN, kill_at
from toolkit.waiting import patient, until
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
GPT = JOBS["gpt"]
SECONDS, JOB_SECONDS = 60.0, 300.0
HOW_TO = ROOT / "docs" / "how-to.md"
#: What each launcher gives to rank 1 of two, which is the first one on its node.
GIVEN = {
    "srun": {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_LOCALID": "0", "SLURM_NODEID": "1"},
    "mpirun": {
        "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "0", "PMIX_RANK": "1",
    },
    "mpiexec": {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0"},
}  # fmt: skip
needs_nodes = pytest.mark.skipif(bool(why_not()), reason=why_not())
SHOW = 'import os; print(*(os.environ[one] for one in ("RANK", "WORLD_SIZE", "LOCAL_RANK")))'


@pytest.fixture(scope="module")
def town(shared_workplace: Workplace) -> Iterator[Cluster]:
    """Two nodes, with a service on each."""
    with started(shared_workplace.folder / "c", 2, shared_workplace.env) as made:
        yield made


@pytest.fixture(scope="module")
def store(town: Cluster) -> Iterator[tuple[str, int]]:
    """PyTorch's store, on a machine that is no node of the job."""
    node = town.nodes[2]
    words = [str(BIN / "jitc"), "store", "--listen", f"{node.address}:0"]
    process = node.start(words, env=town.env, stdout=subprocess.PIPE)
    assert process.stdout is not None
    found = re.fullmatch(r"jitc store ready: (.+):(\d+)\n", process.stdout.readline())
    assert found
    yield found[1], int(found[2])
    process.send_signal(signal.SIGTERM)
    assert process.wait(patient(SECONDS)) == 0
    process.stdout.close()


def train(town: Cluster, folder: Path, commands: Sequence[Sequence[str]], *given: dict[str, str]) -> list[Record]:
    """Runs a command on each node, and returns what the ranks have recorded. given: variables of each."""
    processes = []
    for number, (service, words) in enumerate(zip(town.services, commands, strict=True)):
        env = {**service.env, "LD_PRELOAD": str(PRELOAD), **(given[number] if given else {})}
        with (folder / f"node{number}.log").open("wb") as log:
            processes.append(service.node.start(words, env=env, stdout=log, stderr=subprocess.STDOUT))
    try:
        status = [one.wait(patient(JOB_SECONDS)) for one in processes]
    finally:
        for one in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
    output = "\n".join((folder / f"node{number}.log").read_text()[-3000:] for number in range(len(processes)))
    assert status == [0] * len(processes), output
    return read_records(folder)


def program(folder: Path) -> list[str]:
    record = ("--json", str(folder / "record.json"))
    return [str(ROOT / "examples" / GPT.name), "--device", "cuda", *GPT.arguments, *record]


def torchrun(town: Cluster, folder: Path, place: tuple[str, int], *hosts: int) -> list[list[str]]:
    """Returns the command of each node. place: of the store; hosts: the nodes that are to have it."""
    common = ("--nnodes", "2", "--nproc-per-node", "1", "--rdzv-id", folder.name, "--rdzv-backend", "c10d")
    return [
        [
            str(BIN / "torchrun"), *common, "--rdzv-endpoint", f"{place[0]}:{place[1]}",
            "--rdzv-conf", f"is_host={int(number in hosts)}", "--local-addr", one.node.address, *program(folder),
        ]
        for number, one in enumerate(town.services)
    ]  # fmt: skip


def loses_one(town: Cluster, node: int) -> Callable[[], dict[str, Any]]:
    """Has a worker of the node killed in the third backward pass. Returns what waits for the recovery's report."""
    before = town.reports()
    town.services[node].inject(kill_at(2, "backward"), 0)

    def recovered() -> dict[str, Any]:
        [found] = until(lambda: town.reports_since(before) or None, SECONDS, "a recovery is told of")
        assert found["outcome"] == "recovered", found
        return found

    return recovered


@needs_nodes
@pytest.mark.slow
def test_torchrun_with_the_store_outside_of_the_job(
    town: Cluster, store: tuple[str, int], reference: Reference, tmp_path: Path
) -> None:
    recovered = loses_one(town, 1)
    assert_identical(train(town, tmp_path, torchrun(town, tmp_path, store)), reference(GPT, "cuda"))
    recovered()


@needs_nodes
def test_torchrun_with_the_store_on_node_0(town: Cluster, reference: Reference, tmp_path: Path) -> None:
    recovered = loses_one(town, 0)
    place = (town.nodes[0].address, free_port())
    assert_identical(train(town, tmp_path, torchrun(town, tmp_path, place, 0)), reference(GPT, "cuda"))
    recovered()


def wrapper(launcher: str) -> str:
    """Returns the shell's line by which the page has a launcher's ranks begin."""
    found = re.search(rf"^ +{launcher} [^']*bash -c '([^']+)'", HOW_TO.read_text(), re.MULTILINE)
    assert found, f"docs/how-to.md has no line for {launcher}"
    return found[1]


@pytest.mark.parametrize("launcher", GIVEN)
def test_a_launcher_s_line_says_which_rank_it_is(launcher: str, tmp_path: Path) -> None:
    """And the rank takes the shell's place: the launcher's signals reach it."""
    (tmp_path / "train.py").write_text(f"import os\nprint(os.getppid())\n{SHOW}\n")
    env = {**base_environment({}), **GIVEN[launcher]}
    words = ["bash", "-c", wrapper(launcher)]
    done = subprocess.run(words, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == [str(os.getpid()), "1 2 0"]


@needs_nodes
def test_ranks_of_slurm(town: Cluster, reference: Reference, tmp_path: Path) -> None:
    """Rank 0 has the store. The job has Slurm's name on both nodes, and loses a worker."""
    recovered = loses_one(town, 1)
    line = wrapper("srun").replace("train.py", " ".join(program(tmp_path)))
    common = {
        "MASTER_ADDR": town.nodes[0].address, "MASTER_PORT": str(free_port()), "SLURM_JOB_ID": "4711",
        "SLURM_JOB_NAME": "llama", "SLURM_STEP_ID": "0",
    }  # fmt: skip
    given = [{**GIVEN["srun"], **common, "SLURM_PROCID": str(rank), "SLURM_NODEID": str(rank)} for rank in range(2)]
    assert_identical(train(town, tmp_path, [["bash", "-c", line]] * 2, *given), reference(GPT, "cuda"))
    assert recovered()["job"] == "llama-4711"
