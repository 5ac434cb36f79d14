"""Launches that CUDA refuses are errors of their calls: no fault, and nothing is replayed. On the fake driver."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from toolkit.fakes import fake_calls, fake_options
from toolkit.lockstep import Lockstep
from toolkit.workplace import Workplace

PROGRAM = Path(__file__).with_name("refused_launches.py")
#: cudaErrorCooperativeLaunchTooLarge, cudaErrorInvalidClusterSize.
TOO_LARGE, BAD_CLUSTER = 720, 912


def test_the_call_gets_the_error(
    workplace: Workplace, environment: dict[str, str], start: Callable[..., Lockstep]
) -> None:
    service = workplace.service(1, ("--device", "cuda", *fake_options("nvrtc")), **environment)
    program = start(service, PROGRAM)
    for step in (1, 2, 3):
        program.tell()
        given = [int(word) for word in program.answer().split()]
        assert given == [0, TOO_LARGE, 0, BAD_CLUSTER, BAD_CLUSTER, BAD_CLUSTER, 0, 2 * step]
    code, said = program.finish()
    assert code == 0, said
    assert service.report() == []
    calls = fake_calls(Path(environment["JITC_FAKE_LOG"]))
    launches = [one for one in calls if one.name == "cuLaunchKernelEx" and one.args.get("kernel") == "add_i64"]
    assert [one.result for one in launches] == [0] * 6
    # Once each: what fits is known afterwards; what a driver refuses is asked again.
    assert sum(one.name.startswith("cuOccupancyMaxActiveBlocks") for one in calls) == 1
    assert sorted(one.result for one in calls if one.name == "cuOccupancyMaxActiveClusters") == [0, *[BAD_CLUSTER] * 3]
