"""The steps in their order, and how long each may take: cheap and diverse ones first, what is timed last.

Called by: check.py. The functions are in gpu/steps; a step's name is its function's. None may count on an earlier one:
what an earlier one found out only saves time, or says why there is nothing to run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

#: What an earlier step can find to be missing: a GPU; a service on it; PyTorch that computes there without the proxy.
GPU, JITC, TORCH = "gpu", "jitc", "torch"


@dataclass(frozen=True)
class Step:
    name: str
    module: str
    most: float  # seconds
    needs: tuple[str, ...] = (GPU, JITC, TORCH)
    least: float = 15.0  # kept for it while earlier ones run
    on_request: bool = False  # only where it is named: it takes long

    def limit(self, left: float, later: Iterable[Step]) -> float:
        """Its seconds, of those that are left for it and for the later ones."""
        return max(min(self.most, left, self.least), min(self.most, left - sum(one.least for one in later)))


_MACHINE, _DRIVER, _TORCH = "gpu.steps.machine", "gpu.steps.driver", "gpu.steps.with_torch"
_FAULTS, _NETWORKS, _LIBRARIES, _TIMING = (
    "gpu.steps.faults", "gpu.steps.networks", "gpu.steps.libraries", "gpu.steps.timing"
)  # fmt: skip
_WITHOUT_TORCH = (GPU, JITC)

PLAN = (
    Step("preflight", _MACHINE, 100, (), 20),
    Step("environment", _MACHINE, 150, (), 30),
    Step("smallest_program", _DRIVER, 40, _WITHOUT_TORCH, 10),
    Step("costs", _DRIVER, 60, _WITHOUT_TORCH, 20),
    Step("driver_job", _DRIVER, 60, _WITHOUT_TORCH, 20),
    Step("operators", _TORCH, 90),
    Step("attention", _TORCH, 60),
    Step("control", _TORCH, 60),
    Step("training", _TORCH, 60),
    Step("illegal_access", _FAULTS, 60),
    Step("killed_worker", _FAULTS, 80),
    Step("not_deterministic", _FAULTS, 80),
    Step("peer_mode", _FAULTS, 90, least=25),
    Step("endless_kernel", _FAULTS, 90, least=25),
    Step("hung_collective", _FAULTS, 80, least=25),
    Step("expandable_segments", _FAULTS, 60),
    Step("convnet", _NETWORKS, 100, least=20),
    Step("validation", _FAULTS, 60),
    Step("graph_with_nccl", _LIBRARIES, 40, least=10),
    Step("compiled", _LIBRARIES, 100, least=10),
    Step("fft", _LIBRARIES, 30, least=8),
    Step("linalg", _LIBRARIES, 30, least=8),
    Step("sparse", _LIBRARIES, 30, least=8),
    Step("profiler", _LIBRARIES, 30, least=8),
    Step("cupy", _LIBRARIES, 30, least=8),
    Step("other_libraries", _LIBRARIES, 40, least=8),
    Step("torch_costs", _TIMING, 40),
    Step("one_rank", _TIMING, 150, least=30),
    Step("two_ranks", _TIMING, 100, least=25),
    Step("networks_timed", _TIMING, 90, least=20),
    Step("linalg_magma", _LIBRARIES, 40, on_request=True),
    Step("large_model", "gpu.steps.large", 280, on_request=True),
    Step("third_party", "gpu.steps.third_party", 480, on_request=True),
)
NAMES = tuple(step.name for step in PLAN)


def default() -> list[str]:
    """Those of a check that names none."""
    return [step.name for step in PLAN if not step.on_request]
