"""The environment variables of a program that its worker gets for NVIDIA's libraries, which the worker opens.

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
#: Variables that jitc decides: where ranks meet, and which of them are neighbours.
NEVER = ("NCCL_COMM_ID", "NCCL_HOSTID")
#: Endings of variables with names of files, and of libraries to be opened.
NEVER_ENDINGS = ("_DIR", "_FILE", "_LIB", "_PATH", "_PLUGIN")
#: Values of unset variables: older releases of PyTorch set this one in every program.
DEFAULTS = {"CUDA_MODULE_LOADING": "LAZY"}
VARIABLES_MOST = 64
NAME_MOST, VALUE_MOST = 64, 512  # bytes
BYTES_MOST = 4096  # of all names and values
_NAME = re.compile(f"[A-Z0-9_]{{1,{NAME_MOST}}}")
_VALUE = re.compile(f"[ -~]{{0,{VALUE_MOST}}}")


class Refused(ValueError):
    """Variables that no client of jitc's sends; the text says what is wrong with them."""


def accepted(sent: Mapping[str, str]) -> dict[str, str]:
    """Returns what a worker gets of the variables. Names not meant for it, as a newer client may send, are left out."""
    if len(sent) > VARIABLES_MOST:
        raise Refused(f"{len(sent)} environment variables; there may be {VARIABLES_MOST}")
    if sum(len(name.encode()) + len(value.encode()) for name, value in sent.items()) > BYTES_MOST:
        raise Refused(f"environment variables of more than {BYTES_MOST} bytes")
    if not all(_NAME.fullmatch(name) and _VALUE.fullmatch(value) for name, value in sent.items()):
        raise Refused(f"an environment variable that is no short printable text (at most {VALUE_MOST} bytes)")
    return {name: value for name, value in sorted(sent.items()) if meant(name) and DEFAULTS.get(name) != value}


def meant(name: str) -> bool:
    """Returns whether the variable is for the libraries, and a program's to decide."""
    wanted = name.startswith(PREFIXES) or name in NAMES
    return wanted and name not in NEVER and not name.endswith(NEVER_ENDINGS)


def needs_own_worker(variables: Mapping[str, str]) -> bool:
    """Returns whether a worker that has opened its libraries with the service's environment has other values."""
    return any(os.environ.get(name) != value for name, value in variables.items())
