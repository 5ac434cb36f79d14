"""The error for parts of torch.compile that do not work on the software device: one line, without PyTorch's frames.

Called by: scheduling.py, host_kernels.py, library_files.py. Promise: PyTorch passes it unchanged to the caller of the
compiled function; with TORCHDYNAMO_VERBOSE=1 with all frames.
"""

from __future__ import annotations

from typing import Any

from torch._dynamo import config
from torch._dynamo.exc import ShortenTraceback
from torch._inductor import cpp_builder

_NO_COMPILER = (
    "jitc: torch.compile needs a C++ compiler on the software device, and there is none ({}). Install g++, or name one "
    "in CXX; TORCHDYNAMO_DISABLE=1 lets the program run without compiling"
)
NO_CPP_WRAPPER = (
    "jitc: Inductor's C++ wrappers (cpp_wrapper, AOTInductor) do not run on the software device; leave "
    "torch._inductor.config.cpp_wrapper and TORCHINDUCTOR_CPP_WRAPPER off"
)


class CannotCompile(ShortenTraceback, RuntimeError):
    def __init__(self, text: str) -> None:
        super().__init__(text, first_useful_frame=None)

    def remove_dynamo_frames(self) -> Any:
        return self if config.verbose else self.with_traceback(None)


def check_compiler() -> None:
    try:
        cpp_builder.get_cpp_compiler()
    except Exception as error:
        raise CannotCompile(_NO_COMPILER.format(str(error).splitlines()[0])) from None
