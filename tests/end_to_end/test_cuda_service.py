"""jitc-proxyd --device cuda on the fake libraries: which GPUs it offers, a program on them, what it survives.

Nothing here says anything about a real GPU; what the fakes are is in tests/fakes.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toolkit.client import VERSION, node
from toolkit.fakes import fake_calls, fake_compiler, fake_library
from toolkit.job import PRELOAD, ROOT, run_command
from toolkit.lockstep import Lockstep
from toolkit.sandbox import refusing
from toolkit.service import BIN, Service, kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

STEPS, FILLING = (ROOT / "tests" / "end_to_end" / name for name in ("cuda_steps.py", "filling_steps.py"))
CUDA = ("--device", "cuda", *fake_compiler())
ADDR_NO_RANDOMIZE = 0x0040000
Start = Callable[..., Lockstep]


def describe(service: Service) -> list[Any]:
    channel, stub = node(service.socket)
    with channel:
        return list(stub.Describe(control_pb2.DescribeRequest(protocol_version=VERSION), timeout=20).gpus)


def test_gpus_and_workers(workplace: Workplace, environment: dict[str, str], tmp_path: Path) -> None:
    preloaded = environment | {"LD_PRELOAD": str(PRELOAD)}
    cudnn = ("--cudnn", str(fake_library("cudnn")))
    service = workplace.service(2, (*CUDA, *cudnn, "--workers-per-gpu", "2", "--spares", "0"), **preloaded)
    gpus = describe(service)
    assert [gpu.index for gpu in gpus] == [0, 1, 2, 3]
    assert len({gpu.uuid for gpu in gpus}) == 4
    assert {(gpu.device, gpu.memory_total) for gpu in gpus} == {("cuda", 496 << 20)}
    assert gpus[0].attributes[75] == gpus[0].capability_major > 0
    assert gpus[0].attributes[16] == gpus[0].multiprocessors > 0
    assert all(gpu.cudnn for gpu in gpus)
    states = service.status()["gpus"]
    assert [gpu["physical"] for gpu in states] == [0, 1, 0, 1]
    for gpu in states:
        environ = Path(f"/proc/{gpu['worker_pid']}/environ").read_bytes().split(b"\0")
        assert not any(one.startswith(b"LD_PRELOAD=") for one in environ)
        layout = int(Path(f"/proc/{gpu['worker_pid']}/personality").read_text(), 16)
        assert layout & ADDR_NO_RANDOMIZE, "a rebuilt worker finds device variables elsewhere"
    # The service itself never initialises CUDA: that was done in a process that has ended.
    calls = fake_calls(tmp_path / "log")
    assert any(call.name == "cuInit" for call in calls)
    assert service.process.pid not in {call.pid for call in calls if call.name.startswith("cu")}


def test_a_worker_dies(workplace: Workplace, environment: dict[str, str], start: Start) -> None:
    service = workplace.service(2, CUDA, **environment)
    calm, struck = start(service, STEPS, 0), start(service, STEPS, 1)
    expected = [calm.step() for _ in range(6)]
    service.inject(kill_at(1), 1)
    assert [struck.step() for _ in range(3)] == expected[:3]
    service.survived(1)
    service.inject(kill_at(3, skip=2), 1)
    assert [struck.step() for _ in range(3)] == expected[3:]
    assert len(set(expected)) == 6
    assert [calm.finish(), struck.finish()] == [(0, ""), (0, "")]
    report = service.survived(2)
    assert [(one["cause"], one["gpu"], one["outcome"]) for one in report] == [("worker-death", 1, "recovered")] * 2
    assert report[-1]["bytes_restored"] >= 2 << 20


def test_workers_on_one_gpu_have_all_of_their_shares(
    workplace: Workplace, environment: dict[str, str], start: Start, tmp_path: Path
) -> None:
    """Their contexts take memory too, which is in nobody's share; a worker that takes over finds the room as well."""
    memory = {"JITC_FAKE_CONTEXT_MEMORY": str(64 << 20), "JITC_FAKE_MEMORY_USE": str(tmp_path / "use")}
    service = workplace.service(1, (*CUDA, "--workers-per-gpu", "2", "--spares", "0"), **environment, **memory)
    programs = [start(service, FILLING, gpu) for gpu in range(2)]
    for program in programs:
        taken, total, _ = program.step().split()
        assert int(taken) == int(total) == 432 << 20
    calm, struck = (program.step() for program in programs)
    assert calm == struck
    os.kill(service.status()["gpus"][1]["worker_pid"], signal.SIGKILL)
    assert programs[0].step() == programs[1].step()
    # The next service finds the GPU full, and shares stay what they are.
    service.replace()
    assert {gpu.memory_total for gpu in describe(service)} == {432 << 20}
    os.kill(service.status()["gpus"][0]["worker_pid"], signal.SIGKILL)
    assert programs[0].step() == programs[1].step()
    assert [program.finish() for program in programs] == [(0, "")] * 2
    service.survived(2)


def test_memory_is_mapped_by_hand(workplace: Workplace, environment: dict[str, str], start: Start) -> None:
    """The same results as with memory of cuMemAlloc, also when the worker is lost in the middle of mapping."""
    service = workplace.service(2, CUDA, **environment)
    plain, mapped = start(service, STEPS, 0), start(service, STEPS, 1, "mapped")
    expected = [plain.step() for _ in range(6)]
    service.inject(kill_at(1), 1)
    assert [mapped.step() for _ in range(3)] == expected[:3]
    service.survived(1)
    for fault in (kill_at(3, skip=2), kill_at(4, skip=6)):
        service.inject(fault, 1)
    assert [mapped.step() for _ in range(3)] == expected[3:]
    assert [plain.finish(), mapped.finish()] == [(0, ""), (0, "")]
    service.survived(3)


def test_addresses_that_the_driver_does_not_give(
    workplace: Workplace, environment: dict[str, str], start: Start
) -> None:
    """The service finds out at its start, and sessions have others, in every worker."""
    service = workplace.service(1, CUDA, **environment, JITC_FAKE_HINTS="100000000000-140000000000")
    program = start(service, STEPS, 0, "pinned")
    first = program.step()
    service.inject(kill_at(1), 0)
    assert first and program.step()
    service.survived(1)
    assert program.finish() == (0, "")
    assert "sessions' addresses begin at 0x100000000000 (2048 GiB each): 2048 GiB at 0x2" in service.said()


def test_in_a_sandbox(workplace: Workplace, environment: dict[str, str], start: Start) -> None:
    """Without what containers and sandboxes may lack: pidfds, fixed layouts, NVML's events."""
    without = {"JITC_FAKE_FAIL": "nvmlEventSetCreate:1+=3"}
    service = workplace.service(
        1, CUDA, refusing("personality", "pidfd_open", "pidfd_send_signal"), **environment | without
    )
    program = start(service, STEPS, 0)
    expected = [program.step() for _ in range(2)]
    assert program.finish() == (0, "")
    struck = start(service, STEPS, 0)
    service.inject(kill_at(1), 0)
    assert [struck.step() for _ in range(2)] == expected
    service.survived(1)
    struck.kill()
    until(lambda: not service.status()["gpus"][0]["sessions"], 20, "the killed program's session is closed")
    log = service.said()
    assert "may lie anywhere" not in log, "workers see to it themselves"
    assert "NVML does not report events here" in log


def test_pinned_memory_is_that_of_every_worker(
    workplace: Workplace, environment: dict[str, str], start: Start, tmp_path: Path
) -> None:
    """The same results as through the socket; each worker registers what the program has, where it has it."""
    service = workplace.service(2, CUDA, **environment)
    plain, pinned = start(service, STEPS, 0), start(service, STEPS, 1, "pinned")
    expected = [plain.step() for _ in range(4)]
    service.inject(kill_at(1, "copy"), 1)
    assert [pinned.step() for _ in range(2)] == expected[:2]
    service.survived(1)
    service.inject(kill_at(2), 1)
    assert [pinned.step() for _ in range(2)] == expected[2:]
    assert [plain.finish(), pinned.finish()] == [(0, ""), (0, "")]
    service.survived(2)
    calls = [call for call in fake_calls(tmp_path / "log") if call.name == "cuMemHostRegister_v2"]
    own = {32 << 20, 16 << 20}  # the workers': the ring for pageable memory, windows of a boundary's copies
    by_worker: dict[int, set[tuple[Any, int]]] = {}
    for call in calls:
        if call.args["size"] not in own:
            by_worker.setdefault(call.pid, set()).add((call.args["address"], call.args["size"]))
    first, *others = by_worker.values()
    assert [size for _, size in first] == [1 << 20] * 2
    assert others == [first] * 2


def test_trouble_that_nvml_tells(
    workplace: Workplace, environment: dict[str, str], start: Start, tmp_path: Path
) -> None:
    service = workplace.service(2, CUDA, **environment)
    programs = [start(service, STEPS, 0), start(service, STEPS, 1)]
    before = [program.step() for program in programs]
    events = tmp_path / "events"
    events.write_text("xid 1 31\nxid 1 48\n")
    until(lambda: len(service.report()) == 1, 20, "the Xid is a fault")
    after = [program.step() for program in programs]
    assert before[0] == before[1]
    assert after[0] == after[1]
    with events.open("a") as more:
        more.write("ecc 0\n")
    until(lambda: len(service.report()) == 2, 20, "the ECC error is a fault")
    assert [(one["cause"], one["gpu"], one["outcome"]) for one in service.report()] == [
        ("xid", 1, "recovered"), ("ecc-error", 0, "recovered"),
    ]  # fmt: skip
    assert "Xid 31 (MMU fault: illegal address); left to the worker" in service.said()
    with events.open("a") as more:
        more.write("lost 0\n")
    until(lambda: len(service.report()) == 3, 20, "the loss of the GPU is a fault")
    last = [program.step() for program in programs]  # both on GPU 1
    assert last[0] == last[1]
    gpus = service.status()["gpus"]
    assert [gpu["state"] for gpu in gpus] == ["failed", "ready"]
    assert [one["host"] for gpu in gpus for one in gpu["sessions"]] == [1, 1]
    late = start(service, STEPS, 0)
    assert late.step() == ""
    status, errors = late.finish()
    assert status == 1
    assert "GPU 0 has failed" in errors
    assert [program.finish() for program in programs] == [(0, ""), (0, "")]


@pytest.mark.parametrize(
    ("changes", "options", "words"),
    [
        ({"CUDA_VISIBLE_DEVICES": ""}, (), "NVML lists 2 GPUs, but"),
        ({}, ("--gpus", "3"), "--gpus 3, but the CUDA driver shows 2"),
        ({}, ("--nccl", str(STEPS)), "--nccl: "),
        ({}, ("--driver", str(PRELOAD)), "is jitc's own preloaded library"),
        ({"JITC_FAKE_FAIL": "cuInit:1+=999"}, (), "cuInit of the CUDA driver failed with error 999"),
    ],
)
def test_what_cannot_be_is_one_line(
    workplace: Workplace, environment: dict[str, str], changes: dict[str, str], options: tuple[str, ...], words: str
) -> None:
    command = [str(BIN / "jitc-proxyd"), *CUDA, "--socket", str(workplace.folder / "s"), *options]
    done = run_command(command, env=environment | changes)
    assert done.returncode == 1
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
