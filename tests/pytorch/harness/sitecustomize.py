"""Gives a test file the helpers of its own release: torch.testing._internal from where the tests are from.

Loaded by every Python process of a test, also those that tests start, because its folder is on PYTHONPATH. The wheel
has helpers too, but of its release; a test of another one does not find all names there.
"""

import importlib.abc
import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

HELPERS = "torch.testing._internal."
#: These stand on what the release that is installed has inside: its quantized engines, its process groups.
OF_THE_WHEEL = {"common_quantized", "distributed.fake_pg", "distributed.multi_threaded_pg"}
THREADS = HELPERS + "distributed.multi_threaded_pg"


class ThreadsHelper(SourceFileLoader):
    """The process group of threads, with what PyTorch 2.11's lacks. `comms`: PyTorch asks for it when a test ends, and
    each thread would end in an error. Waits: rank 0's thread computes a collective on its own stream, of what others'
    streams may not have written yet; `--check-order` reports it, and small kernels on a GPU seldom show it."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if not hasattr(module.ThreadLocalWorld, "comms"):
            module.ThreadLocalWorld.comms = property(lambda _world: [])
        join, plain = module.Collective.join, module.Collective.__init__

        def init(self: Any, world_size: int, collective: Any, pg: Any) -> None:
            plain(self, world_size, Waits(collective), pg)

        def join_after_streams(self: Any, rank: int, data: Any) -> Any:
            all_streams()
            return join(self, rank, data)

        module.Collective.__init__, module.Collective.join = init, join_after_streams


class Waits:
    """A collective that is done when the device has done it."""

    def __init__(self, collective: Any) -> None:
        self._collective = collective

    def work(self, data: Any) -> None:
        self._collective.work(data)
        all_streams()


def all_streams() -> None:
    import torch

    if torch.cuda.is_initialized():
        for device in range(torch.cuda.device_count()):
            torch.cuda.synchronize(device)


class OwnHelpers(importlib.abc.MetaPathFinder):
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(self, fullname: str, path: list[str] | None = None, target: object = None) -> ModuleSpec | None:
        if fullname == THREADS:
            spec = PathFinder.find_spec(fullname, path)
            if spec and spec.origin:
                spec.loader = ThreadsHelper(fullname, spec.origin)
            return spec
        if not fullname.startswith(HELPERS) or fullname.removeprefix(HELPERS) in OF_THE_WHEEL:
            return None
        file = os.path.join(self._folder, *fullname.removeprefix(HELPERS).split(".")) + ".py"
        return importlib.util.spec_from_file_location(fullname, file) if os.path.isfile(file) else None


if folder := os.environ.get("JITC_PYTORCH_TESTS_HELPERS"):
    sys.meta_path.insert(0, OwnHelpers(folder))
