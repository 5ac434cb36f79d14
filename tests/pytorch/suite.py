"""Which of PyTorch's test files are run, and how each is.

Called by: __main__.py, processes.py, child.py (as data, in JSON).
"""

from __future__ import annotations

from dataclasses import dataclass

#: Tests that PyTorch calls slow are run as well.
SLOW_TOO = (("PYTORCH_TEST_WITH_SLOW", "1"),)


#: `torch.cuda.is_available()` asks NVML, so that a process that has asked may be copied.
COUNTS_ALONE = (("PYTORCH_NVML_BASED_CUDA_CHECK", "1"),)

#: PyTorch's own word for a GPU that Triton cannot use: of a test, the part that compiles kernels skips itself, and the
#: rest runs.
NO_TRITON = (("TORCHINDUCTOR_TRITON_DISABLE_DEVICE_DETECTION", "1"),)


@dataclass(frozen=True)
class SuiteFile:
    path: str  # in PyTorch's test folder
    gpus: int = 1
    memory: str = "4GiB"  # of each GPU
    device_part: bool = False  # only tests that are for CUDA by their name or class
    seconds: float = 300.0  # that one test may take
    ranks: int = 1  # processes that run each test together; others start their own
    ranks_prepared: bool = False  # processes that tests start have PyTorch loaded already (child.py)
    env: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """As it is written on the command line and as its expectations are called."""
        return self.path.removesuffix(".py").replace("/", ".")


def of_ranks(path: str, seconds: float = 300.0) -> SuiteFile:
    """A file whose tests start two ranks each."""
    return SuiteFile(path, gpus=2, memory="1GiB", seconds=seconds, env=(*COUNTS_ALONE, *NO_TRITON), ranks_prepared=True)


FILES = (
    SuiteFile("test_cuda.py", env=SLOW_TOO),
    SuiteFile("test_nn.py", device_part=True),
    SuiteFile("test_autograd.py", device_part=True),
    of_ranks("distributed/test_c10d_nccl.py"),
    SuiteFile("distributed/test_c10d_ops_nccl.py", gpus=2, memory="1GiB", ranks=2),
    of_ranks("distributed/fsdp/test_fsdp_misc.py"),
    of_ranks("distributed/fsdp/test_fsdp_clip_grad_norm.py", seconds=1500.0),  # 72 models in one test
    of_ranks("distributed/fsdp/test_fsdp_overlap.py"),
    of_ranks("distributed/_composable/fsdp/test_fully_shard_training.py", seconds=1500.0),
)


def named(name: str) -> SuiteFile | None:
    """The file that a user means: its path, its name, or the last part of it."""
    plain = name.removesuffix(".py").replace("/", ".")
    found = [one for one in FILES if one.name == plain or one.name.endswith("." + plain)]
    return found[0] if len(found) == 1 else None
