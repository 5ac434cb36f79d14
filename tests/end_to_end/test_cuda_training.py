"""A training loop of kernels, graphs, cuBLAS and NCCL calls on the fake libraries: whatever fails, the same bytes.

The program is cuda_training.py; after each step it tells a hash of all its device memory. Every test asserts that
each fault fired and was recovered. Nothing here says anything about a real GPU; what the fakes are is in tests/fakes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from toolkit.fakes import fake_options, fake_system
from toolkit.job import ROOT
from toolkit.lockstep import Lockstep, all_steps, begin_ranks, finish_all
from toolkit.service import Service, kill_at, kill_at_op
from toolkit.waiting import until
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

TRAINING = ROOT / "tests" / "end_to_end" / "cuda_training.py"
STEPS = 9
PHASES = ("forward", "backward", "optimizer", "boundary", "copy", "collective")
#: Ops that every run surely reaches.
OPS = {1: 320, 2: 330}
RANDOM_OPS = 20
#: A step of one rank has fewer than the one, and more than the other.
MOST_OPS, LEAST_OPS = 34, 30
#: Boundaries at which a worker finds out which blocks may wait.
LEARNED = 3
PEERS = "peers give back what they hold"
#: A job whose boundaries are spaced relies on copies, not on peers.
ALL_BOUNDARIES = ("--boundary-budget", "0")
#: In which the service surely has found out what replicas hold.
MOST_STEPS = 1000
#: Longer than anything here takes on a busy machine, shorter than a test's patience.
HANG_SECONDS = "4"
Start = Callable[..., Lockstep]
Hashes = list[list[str]]
Reports = list[dict[str, Any]]
Expected = Callable[[int], Hashes]


def serve(workplace: Workplace, environment: dict[str, str], *options: str, gpus: int = 2, **settings: str) -> Service:
    """With variables of modules where they were in every other process, unless the settings say otherwise."""
    all_settings = environment | {"JITC_FAKE_VARIABLES": "fixed"} | settings
    return workplace.service(
        gpus, ("--device", "cuda", *fake_options("nccl", "cublas", "cublaslt", "nvrtc"), *options), **all_settings
    )


def begin(
    service: Service, start: Start, *gpus: int, counting: bool = True, looking: bool = False, asking: bool = True
) -> list[Lockstep]:
    """A rank on each of the GPUs."""
    settings = int(counting), int(looking), int(asking)
    programs = [start(service, TRAINING, gpu, len(gpus), rank, *settings) for rank, gpu in enumerate(gpus)]
    return begin_ranks(programs)


def steps(programs: list[Lockstep], count: int = STEPS) -> Hashes:
    return all_steps(programs, count)


@pytest.fixture(scope="module")
def expected(shared_workplace: Workplace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Expected]:
    """The lines of a run without a fault, by number of ranks."""
    environment = fake_system(tmp_path_factory.mktemp("driver"), shared_workplace.env, DEVICES="2")
    service = serve(shared_workplace, environment)
    known: dict[int, Hashes] = {}
    programs: list[Lockstep] = []

    def start(*arguments: Any) -> Lockstep:
        programs.append(Lockstep(*arguments))
        return programs[-1]

    def undisturbed(ranks: int) -> Hashes:
        if ranks not in known:
            known[ranks] = steps(begin(service, start, *range(ranks)))
            finish_all(programs[-ranks:])
        return known[ranks]

    yield undisturbed
    for program in programs:
        program.kill()


@dataclass
class Scene:
    """What a test starts services and programs with."""

    workplace: Workplace
    environment: dict[str, str]
    start: Start
    expected: Expected

    def serve(self, *options: str, gpus: int = 2, **settings: str) -> Service:
        return serve(self.workplace, self.environment, *options, gpus=gpus, **settings)

    def begin(self, service: Service, ranks: int) -> list[Lockstep]:
        return begin(service, self.start, *range(ranks))


@pytest.fixture
def scene(workplace: Workplace, environment: dict[str, str], start: Start, expected: Expected) -> Scene:
    return Scene(workplace, environment, start, expected)


def causes(report: list[dict[str, Any]]) -> list[str]:
    assert all(one["outcome"] == "recovered" for one in report), report
    return [one["cause"] for one in report]


class Run:
    """The training on a service, in which each step may have a fault on the GPU of the last rank."""

    def __init__(self, scene: Scene, service: Service, ranks: int) -> None:
        self.scene, self.service, self.ranks = scene, service, ranks
        self.programs = scene.begin(service, ranks)
        self.lines = steps(self.programs, 1)
        self.faults = 0

    def step(self, phase: str, kind: str = "kill-worker") -> None:
        """A step with the fault (without a phase: at its first op); returns when it is recovered."""
        fault = kill_at(len(self.lines), phase, kind=kind) if phase else control_pb2.Fault(kind=kind)
        self.service.inject(fault, self.ranks - 1)
        self.lines += steps(self.programs, 1)
        self.faults += 1
        until(lambda: len(self.service.report()) >= self.faults, 60, f"the recovery of {kind} in {phase}")

    def finish(self) -> list[str]:
        """The causes of the recoveries; all results are those of a run without a fault."""
        self.lines += steps(self.programs, STEPS - len(self.lines))
        finish_all(self.programs)
        report = self.service.report()
        assert len(report) == self.faults, report
        assert self.lines == self.scene.expected(self.ranks)
        return causes(report)


def test_a_step_changes_all_that_it_should(expected: Expected) -> None:
    for ranks in (1, 2):
        lines = [line for step in expected(ranks) for line in step]
        assert len(set(lines)) == len(lines) == STEPS * ranks


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_worker_lost_in_every_phase(ranks: int, scene: Scene) -> None:
    job = Run(scene, scene.serve(), ranks)
    for phase in PHASES[: 4 + ranks]:
        job.step(phase)
    assert set(job.finish()) == {"worker-death"}


def test_a_worker_lost_over_a_network(scene: Scene) -> None:
    """The other rank's NCCL sees that its peer is gone, before or after the service does."""
    job = Run(scene, scene.serve(JITC_FAKE_NETWORK="1"), 2)
    for phase in ("collective", "backward", "collective"):
        job.step(phase)
    told = [set(one.split(", ")) for one in job.finish()]
    assert all("worker-death" in one and one <= {"worker-death", "collective-error"} for one in told), told


@pytest.mark.sampled
@pytest.mark.parametrize("ranks", [1, 2])
def test_workers_lost_while_copies_are_made(ranks: int, scene: Scene) -> None:
    """The bus is so slow that blocks which may wait are still copied when the first op after a boundary comes."""
    service = scene.serve(*ALL_BOUNDARIES, "--validate-every", "0", JITC_FAKE_PACE="bus=0.0001")
    programs = scene.begin(service, ranks)
    lines = steps(programs, LEARNED)
    reached = [LEARNED + 1, 2 * (LEARNED + 1)]  # the next worker has to find out anew
    for number in reached:
        service.inject(kill_at(number, ""), ranks - 1)
        lines += steps(programs, min(LEARNED + 1, STEPS - len(lines)))
    finish_all(programs)
    report = service.survived(len(reached))
    assert lines == scene.expected(ranks)
    if ranks == 1:  # two are measured, and rely on each other later
        assert [one["boundary"] for one in report] == [number - 1 for number in reached]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("late", [1, 2])
def test_workers_lost_at_every_op_beside_copies(late: int, scene: Scene) -> None:
    """Of the minibatch beside the first boundary that is late, and of the one beside the second."""
    apart = LEARNED + late + 1  # the next worker has to find out anew
    places = {LEARNED + late + apart * op: op for op in range(MOST_OPS)}
    last = max(places) + 2
    undisturbed = scene.begin(scene.serve(gpus=1), 1)
    expected = steps(undisturbed, last)
    finish_all(undisturbed)
    service = scene.serve(*ALL_BOUNDARIES, "--validate-every", "0", JITC_FAKE_PACE="bus=0.0001", gpus=1)
    programs = scene.begin(service, 1)
    for number, op in places.items():
        service.inject(kill_at(number, "", op), 0)
    lines = steps(programs, last)
    finish_all(programs)
    report = service.report()
    assert set(causes(report)) == {"worker-death"} and LEAST_OPS <= len(report) < MOST_OPS, "not every op was hit"
    assert lines == expected
    back = [number - one["boundary"] for number, one in zip(places, report, strict=False)]
    assert set(back) == {0, 1}, "copies were complete before the step's own ops, and not before others"
    assert back == sorted(back, reverse=True)


def test_sums_in_another_order(scene: Scene) -> None:
    """Without an option a GPU's job is tolerated when numbers that it has looked at come out otherwise."""
    service = scene.serve(JITC_FAKE_NOISE="1")
    programs = begin(service, scene.start, 0, looking=True)
    phases = ["forward", "backward", *["optimizer"] * 6]
    for number, phase in enumerate(phases, 1):
        steps(programs, 1)
        service.inject(kill_at(number, phase), 0)
    steps(programs, 2)
    finish_all(programs)
    report = service.survived(len(phases))
    assert all(one["outcome"].startswith("recovered") for one in report), report
    found = [one["differences"] for one in report if one["outcome"] == "recovered, not bit-identical"]
    assert found and all(0 < one["largest"] < 1e-3 and one["bound"] == 0.01 for one in found), report


def test_strict_where_it_is_said(scene: Scene) -> None:
    service = scene.serve("--replay-mismatch", "strict", JITC_FAKE_NOISE="1")
    [program] = begin(service, scene.start, 0, looking=True)
    answers = ["begun"]
    while answers[-1] and len(answers) < 10:  # a replay may add in the same order
        if len(answers) > 1:
            service.inject(kill_at(len(answers) - 1, "optimizer"), 0)
        program.tell()
        answers.append(program.answer())
    assert answers[-1] == ""
    errors = program.finish()[1]
    assert "gave another result in replay than before" in errors and "gave 999" in errors
    until(lambda: "handed to it" in service.report()[-1]["outcome"], 30, "the error is the program's own")


def test_errors_of_the_device(scene: Scene) -> None:
    """An illegal access is a kernel's, and the driver's error 700."""
    job = Run(scene, scene.serve(), 1)
    job.step("forward", "illegal-access")
    job.step("", "illegal-access")
    job.step("backward", "sticky-error")
    job.step("forward", "xid")
    assert job.finish() == ["sticky-error"] * 3 + ["xid"]
    messages = [one["message"] for one in job.service.report()]
    assert all("CUDA_ERROR_ILLEGAL_ADDRESS (700)" in message for message in messages[:2]), messages


@pytest.mark.sampled
@pytest.mark.parametrize("network", ["", "1"])
def test_work_that_hangs(network: str, scene: Scene) -> None:
    """A rank that comes to no collective costs no worker; a kernel that never ends costs its own. Over a network peers
    would see it if the rank gave up its communicator."""
    service = scene.serve("--hang-seconds", HANG_SECONDS, JITC_FAKE_NETWORK=network)
    job = Run(scene, service, 2)
    workers = [service.worker_pid(gpu) for gpu in range(2)]
    job.step("collective", "hung-collective")
    assert [service.worker_pid(gpu) for gpu in range(2)] == workers
    job.step("forward", "endless-kernel")
    now = [service.worker_pid(gpu) for gpu in range(2)]
    assert (now[0] == workers[0], now[1] == workers[1]) == (True, False)
    [guilty] = [one["pid"] for one in service.status()["gpus"][1]["sessions"]]
    collective, kernel = job.finish()
    assert collective == "hung-collective"
    # Both ranks stand still, and whichever is noticed first: rank 1 is what they waited for.
    assert kernel.startswith(("hung-kernel", "hung-collective")), kernel
    assert service.report()[1]["culprits"] == [f"pid {guilty}"], service.report()


def test_a_kernel_that_never_ends(scene: Scene) -> None:
    """Where nobody else waits it is the only thing that can be noticed."""
    service = scene.serve("--hang-seconds", HANG_SECONDS)
    job = Run(scene, service, 1)
    worker = service.worker_pid(0)
    job.step("forward", "endless-kernel")
    assert service.worker_pid(0) != worker
    assert job.finish() == ["hung-kernel"]


def test_two_workers_on_one_gpu(scene: Scene) -> None:
    job = Run(scene, scene.serve("--workers-per-gpu", "2", gpus=1, JITC_FAKE_DEVICES="1"), 2)
    assert [gpu["physical"] for gpu in job.service.status()["gpus"]] == [0, 0]
    for phase in ("collective", "backward"):
        job.step(phase)
    assert job.finish() == ["worker-death"] * 2


def test_a_variable_that_moves_is_named(scene: Scene) -> None:
    """The program has its address: what cannot be as it was ends with an error that says so."""
    service = scene.serve(JITC_FAKE_VARIABLES="moved")
    (program,) = scene.begin(service, 1)
    steps([program], 2)
    service.inject(kill_at(2, "backward"), 0)
    assert steps([program], 1) == [[""]]
    status, errors = program.finish()
    assert status == 1
    assert "the device variable counter is at 0x" in errors
    assert service.report()[0]["outcome"].startswith("given up: the device variable counter is at 0x")


def test_variables_that_move_are_followed(scene: Scene) -> None:
    """Where the program knows them by their symbols alone: in copies, kernels, graphs, and after each fault again."""
    service = scene.serve("--workers-per-gpu", "2", JITC_FAKE_VARIABLES="moved")
    calm, struck = (begin(service, scene.start, *gpus, asking=False) for gpus in ((2, 3), (0, 1)))
    assert steps(struck, 1) == steps(calm, 1)
    for number, phase in enumerate(PHASES, 1):
        service.inject(kill_at(number, phase), 1)
        assert steps(struck, 1) == steps(calm, 1), phase
        until(lambda: len(service.report()) == number, 60, f"the recovery of the {phase}")  # noqa: B023
    assert steps(struck, 2) == steps(calm, 2)
    finish_all(calm + struck)
    assert causes(service.report()) == ["worker-death"] * len(PHASES)


def until_kept(service: Service, kept: str, *jobs: list[Lockstep]) -> int:
    """Steps of all jobs, whose results are the same, until the service keeps the blocks of each so; how many."""
    for number in range(1, MOST_STEPS):
        lines = [steps(job, 1) for job in jobs]
        assert all(line == lines[0] for line in lines)
        if service.said().count(kept) == len(jobs):
            return number
    raise AssertionError(service.said())


def strike_once_kept(
    scene: Scene, service: Service, kept: str, *phases: str, counting: bool = False, asking: bool = True
) -> Reports:
    """Two jobs, one of them struck once the service has found out what replicas hold; the recoveries."""
    settings = {"counting": counting, "asking": asking}
    calm, struck = (begin(service, scene.start, *gpus, **settings) for gpus in ((2, 3), (0, 1)))
    known = until_kept(service, kept, calm, struck) + 2  # boundaries that were made so
    assert steps(struck, 2) == steps(calm, 2)
    for number, phase in enumerate(phases, 1):
        service.inject(kill_at(known, phase), 1)
        known += 1
        assert steps(struck, 1) == steps(calm, 1), phase
        until(lambda: len(service.report()) == number, 60, f"the recovery of the {phase}")  # noqa: B023
    assert steps(struck, 2) == steps(calm, 2)
    finish_all(calm + struck)
    report = service.report()
    assert causes(report) == ["worker-death"] * len(phases)
    return report


@pytest.mark.sampled
@pytest.mark.parametrize("variables", ["fixed", "moved"])
def test_state_that_peers_have(scene: Scene, variables: str) -> None:
    """It goes from GPU to GPU, also a table that the program knows by its symbol and that lies elsewhere then."""
    service = scene.serve(*ALL_BOUNDARIES, "--workers-per-gpu", "2", JITC_FAKE_VARIABLES=variables)
    asking = variables == "fixed"
    for one in strike_once_kept(scene, service, PEERS, "optimizer", "backward", "boundary", asking=asking):
        assert one["bytes_from_peers"]["nccl"] > one["bytes_from_peers"]["host"] == 0
        assert one["notes"] == []


@pytest.mark.slow
def test_state_that_peers_do_not_have(scene: Scene) -> None:
    service, kept = (
        scene.serve(*ALL_BOUNDARIES, "--workers-per-gpu", "2"),
        "copies of all blocks (device variables of pid",
    )
    for one in strike_once_kept(scene, service, kept, "optimizer", "backward", "boundary", counting=True):
        assert one["bytes_from_peers"] == {"nccl": 0, "host": 0}


def test_state_of_a_worker_on_the_same_gpu(scene: Scene) -> None:
    service = scene.serve(*ALL_BOUNDARIES, "--workers-per-gpu", "4", gpus=1, JITC_FAKE_DEVICES="1")
    (one,) = strike_once_kept(scene, service, PEERS, "backward")
    assert one["bytes_from_peers"]["nccl"] > one["bytes_from_peers"]["host"] == 0


def test_state_of_peers_that_nccl_does_not_move(scene: Scene) -> None:
    """It comes through shared memory in the same recovery, and the report says why."""
    service = scene.serve(*ALL_BOUNDARIES, "--workers-per-gpu", "2", JITC_FAKE_FAIL="ncclSend:1+=3")
    (one,) = strike_once_kept(scene, service, PEERS, "backward")
    assert one["bytes_from_peers"]["host"] > one["bytes_from_peers"]["nccl"] == 0
    (note,) = one["notes"]
    assert "came through the host" in note
    assert "NCCL: internal error" in note
    assert one["attempts"] == 1
    assert sorted(standing["lost"] for standing in one["standings"]) == [False, True]


def check(scene: Scene, ranks: int, fault: control_pb2.Fault) -> None:
    """A run with this fault: it is recovered, and the results are those of a run without it."""
    service = scene.serve()
    service.inject(fault, ranks - 1)
    programs = scene.begin(service, ranks)
    lines = steps(programs)
    until(lambda: len(service.report()) == 1, 60, "the recovery")
    finish_all(programs)
    assert len(causes(service.report())) == 1
    assert lines == scene.expected(ranks)


@pytest.mark.slow
@pytest.mark.parametrize("boundary", [0, 3, STEPS - 1])
@pytest.mark.parametrize(
    ("ranks", "phase"), [(ranks, phase) for ranks in (1, 2) for phase in PHASES[: 4 + ranks]]
)  # fmt: skip
@pytest.mark.parametrize("kind", ["kill-worker", "sticky-error", "illegal-access"])
def test_a_fault_in_a_phase(kind: str, phase: str, boundary: int, ranks: int, scene: Scene) -> None:
    check(scene, ranks, kill_at(boundary, phase, kind=kind))


def random_ops() -> list[Any]:
    """Ops anywhere in the run, the same in every run of the tests."""
    source = random.Random(7)
    cases = [(ranks, source.randrange(1, OPS[ranks])) for ranks in OPS for _ in range(RANDOM_OPS)]
    return [pytest.param(*case, marks=() if case == cases[-1] else pytest.mark.slow) for case in cases]


@pytest.mark.parametrize(("ranks", "op"), random_ops())
def test_a_worker_lost_at_an_op(ranks: int, op: int, scene: Scene) -> None:
    check(scene, ranks, kill_at_op(op))
