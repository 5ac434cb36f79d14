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

HELPERS = "torch.testing._internal."
#: These stand on what the release that is installed has inside: its quantized engines, its process groups.
OF_THE_WHEEL = {"common_quantized", "distributed.fake_pg", "distributed.multi_threaded_pg"}
THREADS = HELPERS + "distributed.multi_threaded_pg"


class ThreadsHelper(SourceFileLoader):
    """The process group of threads. PyTorch 2.11 asks it for `comms` when a test ends, which its helper does not have:
    each thread would end in an error."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if not hasattr(module.ThreadLocalWorld, "comms"):
            module.ThreadLocalWorld.comms = property(lambda _world: [])


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
