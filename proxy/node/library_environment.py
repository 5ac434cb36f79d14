"""Which of a program's environment variables a worker gets for NVIDIA's libraries, which it opens.

Called by: the Node service (a session begins), assign.py. The data is that of jitc/library_environment.h (protos), by
which clients send them; a test compares the two. Promises: whatever a program sends, nothing else reaches a worker, and
none of it the service: a name is one of these, a value is short and printable, and there are few.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

PREFIXES = ("NCCL_",)
NAMES = (
    "CUBLASLT_WORKSPACE_SIZE", "CUBLAS_WORKSPACE_CONFIG", "CUDA_CACHE_DISABLE", "CUDA_CACHE_MAXSIZE",
    "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_MAX_COPY_CONNECTIONS", "CUDA_DISABLE_PTX_JIT", "CUDA_FORCE_PTX_JIT",
    "CUDA_GRAPHS_USE_NODE_PRIORITY", "CUDA_MODULE_DATA_LOADING", "CUDA_MODULE_LOADING", "CUDA_SCALE_LAUNCH_QUEUES",
    "NVIDIA_TF32_OVERRIDE",
)  # fmt: skip
#: jitc's own matter: where ranks meet, and which of them are neighbours.
NEVER = ("NCCL_COMM_ID", "NCCL_HOSTID")
#: Names of files, and of libraries to be opened.
NEVER_ENDINGS = ("_DIR", "_FILE", "_LIB", "_PATH", "_PLUGIN")
#: What these are without it: older releases of PyTorch set it in every program.
DEFAULTS = {"CUDA_MODULE_LOADING": "LAZY"}
VARIABLES_MOST = 64
NAME_MOST, VALUE_MOST = 64, 512  # bytes
BYTES_MOST = 4096  # of all names and values
_NAME = re.compile(f"[A-Z0-9_]{{1,{NAME_MOST}}}")
_VALUE = re.compile(f"[ -~]{{0,{VALUE_MOST}}}")


class Refused(ValueError):
    """No client of jitc's sends that; the text says what is wrong with it."""


def accepted(sent: Mapping[str, str]) -> dict[str, str]:
    """What a worker gets of it. Names that are not meant for it, as a newer client may send, are left out."""
    if len(sent) > VARIABLES_MOST:
        raise Refused(f"{len(sent)} environment variables; there may be {VARIABLES_MOST}")
    if sum(len(name.encode()) + len(value.encode()) for name, value in sent.items()) > BYTES_MOST:
        raise Refused(f"environment variables of more than {BYTES_MOST} bytes")
    if not all(_NAME.fullmatch(name) and _VALUE.fullmatch(value) for name, value in sent.items()):
        raise Refused(f"an environment variable that is no short printable text (at most {VALUE_MOST} bytes)")
    return {name: value for name, value in sorted(sent.items()) if meant(name) and DEFAULTS.get(name) != value}


def meant(name: str) -> bool:
    """For the libraries, and a program's to say."""
    wanted = name.startswith(PREFIXES) or name in NAMES
    return wanted and name not in NEVER and not name.endswith(NEVER_ENDINGS)


def needs_own_worker(variables: Mapping[str, str]) -> bool:
    """Whether a worker that has opened its libraries with the service's environment has other values."""
    return any(os.environ.get(name) != value for name, value in variables.items())
