"""The environment of a worker process: the service's, or what of it another user may see.

Called by: the supervisor. Promise: a worker of another user learns nothing of the service's environment but how
libraries are found and tuned, and opens no files of the service's user.
"""

from __future__ import annotations

import pwd
from collections.abc import Mapping

from ...keeper.owner import Owner

#: Variables that concern the service alone.
_OF_SERVICE = (
    "LD_PRELOAD", "JITC_SOCKET", "JITC_USERS", "JITC_ADMINS", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
)  # fmt: skip
#: Beginnings of the names of variables by which libraries are found and tuned.
_PUBLIC = (
    "CUBLAS", "CUDA_", "CUDNN_", "GLIBC_TUNABLES", "JITC_", "KMP_", "LANG", "LC_", "LD_LIBRARY_PATH", "MALLOC_", "MKL_",
    "NCCL_", "NVIDIA_", "OMP_", "PATH", "PYTHON", "TZ",
)  # fmt: skip
#: Folders in which only the service's user may write.
_PRIVATE = ("CUDA_CACHE_PATH", "JITC_CACHE", "JITC_SPILL_DIR", "PYTHONPYCACHEPREFIX", "PYTHONUSERBASE")


def of_workers(service: Mapping[str, str], owner: Owner | None) -> dict[str, str]:
    """Returns the environment. owner: whose process it is to be; None: the service's user."""
    kept = {name: value for name, value in service.items() if name not in _OF_SERVICE}
    if owner is None:
        return kept
    public = {name: value for name, value in kept.items() if name.startswith(_PUBLIC) and name not in _PRIVATE}
    # The user's own packages could stand in for those that the worker was made for.
    return public | {"HOME": _home(owner.uid), "PYTHONNOUSERSITE": "1"}


def of_threads(count: int) -> dict[str, str]:
    """Returns variables for operators of so many threads, in a process that finds no modules in its folder."""
    return {"OMP_NUM_THREADS": str(count), "MKL_NUM_THREADS": str(count), "PYTHONSAFEPATH": "1"}


def _home(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:
        return "/"
