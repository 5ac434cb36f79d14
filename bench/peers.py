"""The same training job under others that make training survive faults, and under jitc, one after the other.

A GPT with two ranks on this machine's cores: cpu/gloo under the others, the software device under jitc. Each job runs
once without a fault and once with one: for the others a rank is killed (SIGKILL), which is what the loss of its GPU is
to them; for jitc its worker. Programs and libraries: bench/peer_programs, in environments of their own.

- step: median, without a fault.
- first new step: from the kill to the first step, of any rank, that the job had not done before it.
- again, dropped: batches that were computed more than once, and that are not part of what was trained.
- identical: weights and optimizer state are those of the run without a fault, to the last bit.
- lines: of the plain program that were changed, added or removed.
"""

from __future__ import annotations

import argparse
import difflib
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import LIBRARIES, ROOT, finish, parser, workplace

if TYPE_CHECKING:
    from toolkit.workplace import Workplace

PROGRAMS = ROOT / "bench" / "peer_programs"
RANKS, SKIP = 2, 5
#: Of one run, with its start-up and its recovery.
SECONDS = 120.0
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS), "--max-restarts", "3")


@dataclass(frozen=True)
class Case:
    """One way to survive; launcher: its words after the environment's bin folder, or Python's own options."""

    name: str
    program: str
    environment: str = "pytorch"
    launcher: tuple[str, ...] = TORCHRUN
    each: str = "job"  # what a launcher is for: the job; a "group" of one rank (torchft's); a "rank", as srun does it
    env: tuple[tuple[str, str], ...] = ()


FT = ("bin/ft_launcher", "--nproc-per-node", str(RANKS), "--max-restarts", "3", "--rdzv-backend", "c10d")
DLROVER = ("bin/dlrover-run", "--standalone", "--nnodes", "1", "--nproc_per_node", str(RANKS), "--max_restarts", "3")
ALONE = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1", "--max-restarts", "3")
JITC = "jitc"
CASES = (
    Case(JITC, "plain"),
    Case("torch.save, torchrun", "torch_save"),
    Case("DCP async_save, torchrun", "dcp_async"),
    Case("torchft", "torchft_groups", "torchft", ALONE, "group", (("TORCHFT_STRICT", "0"),)),
    Case("torchft, strict", "torchft_groups", "torchft", ALONE, "group", (("TORCHFT_STRICT", "1"),)),
    Case("NVRx in-process", "nvrx_inprocess", "nvrx", (), "rank"),
    Case("NVRx ft_launcher", "nvrx_launcher", "nvrx", FT),
    Case("DLRover flash checkpoint", "dlrover_flash", "dlrover", DLROVER),
)


@dataclass
class Seen:
    """Of the log of one run."""

    steps: dict[tuple[int, int], list[float]]  # (rank, step) -> when it was done
    pids: dict[int, int]  # of each rank, the newest
    hashes: set[str]

    def newest(self) -> int:
        return max((step for _, step in self.steps), default=-1)

    def newest_of(self, rank: int) -> int:
        return max((step for one, step in self.steps if one == rank), default=-1)


class DoesNotRun(Exception):
    """Not even without a fault; its last words."""


@dataclass
class Row:
    name: str
    step_ms: float
    first_new_step_s: float | None
    again: int
    dropped: int
    identical: bool
    finished: bool
    lines: int

    def line(self) -> str:
        first = "never" if self.first_new_step_s is None else f"{self.first_new_step_s:.2f} s"
        same = "identical" if self.identical else "differs" if self.finished else "did not finish"
        return (
            f"{self.name:<26} {self.step_ms:7.1f} ms {first:>9} {self.again:6} {self.dropped:8} "
            f"{same:>15} {self.lines:5} lines"
        )


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--steps", type=int, default=160)
    arguments.add_argument("--kill-at", type=int, default=75, help="the step after which a rank is lost")
    arguments.add_argument("--every", type=int, default=10, help="steps from one checkpoint to the next, of the others")
    arguments.add_argument("--only", help="the cases whose name has this")
    args = arguments.parse_args()
    rows: list[Row] = []
    plain: list[float] = []
    failed: dict[str, str] = {}
    with workplace("peers") as place:
        for case in CASES:
            if args.only and args.only not in case.name:
                continue
            if case.name == JITC:
                plain = step_times(run(place, case, args, on_cpu=True, kill=False)[0])
                print(f"{'plain program, cpu/gloo':<26} {statistics.median(plain) * 1000:7.1f} ms", flush=True)
            try:
                rows.append(measured(place, case, args))
                print(rows[-1].line(), flush=True)
            except DoesNotRun as error:
                failed[case.name] = str(error)
                print(f"{case.name:<26} does not run here: {error}", flush=True)
    figures: dict[str, Any] = {one.name: asdict(one) for one in rows}
    figures |= {name: {"does_not_run": why} for name, why in failed.items()}
    if plain:
        figures["plain program, cpu/gloo"] = {"step_ms": statistics.median(plain) * 1000}
    ours = [one for one in rows if one.name == JITC]
    met = {"jitc: identical, nothing dropped, no line changed": all(
        one.identical and not one.dropped and not one.lines for one in ours
    )}  # fmt: skip
    return finish(args, figures, met)


def measured(place: Workplace, case: Case, args: argparse.Namespace) -> Row:
    healthy, _ = run(place, case, args, kill=False)
    faulty, killed = run(place, case, args, kill=True)
    before = max((step for (_, step), times in faulty.steps.items() if min(times) <= killed), default=-1)
    after = [min(times) for (_, step), times in faulty.steps.items() if step > before]
    counts = Counter({key: len(times) for key, times in faulty.steps.items()})
    wanted = {(rank, step) for rank in range(RANKS) for step in range(args.steps)}
    return Row(
        case.name,
        statistics.median(step_times(healthy)) * 1000,
        min(after) - killed if after else None,
        sum(count - 1 for count in counts.values()),
        len(wanted - set(faulty.steps)),
        len(faulty.hashes) == 1 and faulty.hashes == healthy.hashes,
        bool(faulty.hashes),
        changed_lines(case.program),
    )


def step_times(seen: Seen) -> list[float]:
    times = [seen.steps[0, step][-1] for step in sorted(step for rank, step in seen.steps if rank == 0)]
    return [later - earlier for earlier, later in zip(times[SKIP:], times[SKIP + 1 :], strict=False)]


def changed_lines(program: str) -> int:
    """Without comments, blank lines and the text at the beginning."""

    def code(name: str) -> list[str]:
        lines = (PROGRAMS / f"{name}.py").read_text().splitlines()[1:]
        return [one for one in lines if one.strip() and not one.strip().startswith("#")]

    return sum(one[0] in "+-" for one in difflib.ndiff(code("plain"), code(program)))


# -- one run ----------------------------------------------------------------------------------------------


def run(
    place: Workplace, case: Case, args: argparse.Namespace, *, kill: bool, on_cpu: bool = False
) -> tuple[Seen, float]:
    """What the log says in the end, and when a rank was lost."""
    from third_party.environments import python_of

    out = place.folder / f"{case.name.replace(' ', '-')}-{'cpu' if on_cpu else int(kill)}"
    out.mkdir()
    env = {**place.env, **dict(case.env)}
    service = None
    if case.name == JITC and not on_cpu:
        service = place.service(RANKS)
        env |= {"LD_PRELOAD": str(LIBRARIES / "libjitc_interpose.so"), "JITC_SOCKET": str(service.socket)}
    python = python_of(case.environment)
    given = ("--steps", args.steps, "--every", args.every, "--out", out)
    program = (str(PROGRAMS / f"{case.program}.py"), *map(str, given))
    first, *words = [*case.launcher, *program]
    tool = first.startswith("bin/")
    command = [str(python.parents[1] / first), *words] if tool else [str(python), first, *words]
    started: list[subprocess.Popen[bytes]] = []
    try:
        with (out / "output").open("wb") as output:
            jobs = [
                begin(command, {**env, **own}, out, output) for own in surroundings(case, python, env, out, started)
            ]
            started += jobs
            killed = lose(out, args.kill_at, service.worker_pid(1) if service else None) if kill else 0.0
            wait_for_end(jobs)
    finally:
        for one in started:
            end(one)
        if service:
            service.stop()
    seen = read(out)
    if not kill and not seen.hashes:
        raise DoesNotRun((out / "output").read_text(errors="replace").strip().splitlines()[-1])
    return seen, killed


def begin(command: list[str], env: dict[str, str], out: Path, output: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command, env=env, cwd=out, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
    )


def surroundings(
    case: Case, python: Path, env: dict[str, str], out: Path, started: list[subprocess.Popen[bytes]]
) -> list[dict[str, str]]:
    """What each launcher finds in its environment; what they need besides is started."""
    with socket.create_server(("localhost", 0)) as free:
        port = str(free.getsockname()[1])
    if case.each == "job":
        return [{}]
    if case.each == "rank":
        job = {"MASTER_ADDR": "localhost", "MASTER_PORT": port, "WORLD_SIZE": str(RANKS)}
        return [{**job, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(RANKS)]
    words = ["--bind", f"[::]:{port}", "--min_replicas", "1", "--quorum_tick_ms", "100", "--join_timeout_ms", "10000"]
    with (out / "lighthouse").open("wb") as output:
        started.append(begin([str(python.parent / "torchft_lighthouse"), *words], env, out, output))
    lighthouse = {"TORCHFT_LIGHTHOUSE": f"http://localhost:{port}"}
    return [{**lighthouse, "REPLICA_GROUP": str(group)} for group in range(RANKS)]


def lose(out: Path, step: int, worker: int | None) -> float:
    """Kills rank 1, or the worker that serves it, once it has done the step. Returns when that was."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        seen = read(out)
        if seen.newest_of(1) >= step:
            when = time.time()
            os.kill(worker or seen.pids[1], signal.SIGKILL)
            return when
        time.sleep(0.005)
    return time.time()


def wait_for_end(started: list[subprocess.Popen[bytes]]) -> None:
    until = time.monotonic() + SECONDS
    for one in started:
        try:
            one.wait(max(until - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            return


def end(one: subprocess.Popen[bytes]) -> None:
    for what in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(one.pid, what)
            one.wait(10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def read(out: Path) -> Seen:
    seen = Seen({}, {}, set())
    log = out / "log"
    for line in log.read_text().splitlines() if log.exists() else []:
        when, rank, pid, what, value = line.split()[:5]
        seen.pids[int(rank)] = int(pid)
        if what == "step":
            seen.steps.setdefault((int(rank), int(value)), []).append(float(when))
        else:
            seen.hashes.add(value)
    return seen


if __name__ == "__main__":
    sys.exit(main())
