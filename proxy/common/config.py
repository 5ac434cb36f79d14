"""The configuration of a node service.

Called by: the commands (which create it), the service and everything in it. Promise: it does not change while the
service lives, and its defaults are those of the command line (protos/ops/options/table.py, with the limits of its
values).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from jitc.ops.options.generated_fields import OF_WORKERS, ServiceOptions
from jitc.ops.options.table import MEMORY_MOST

from .executor import Shared, shared
from .paths import executor_library

SLOTS = 64
#: Where the ranges of addresses of all sessions begin, best first: a driver need not give what it is asked for, so the
#: cuda back end tries them. From each of them all ranges end below the addresses of programs.
ADDRESS_BASES = (0x2000_0000_0000, 0x1000_0000_0000, 0x1800_0000_0000, 0x0800_0000_0000)
ADDRESS_BASE = ADDRESS_BASES[0]
#: Each session gets a range of its own (../node/addresses.py). PyTorch's expandable segments reserve more than the GPU
#: has per stream and pool, so ranges are large where sessions are: in the first ones.
ADDRESS_BYTES = 1 << 38
LARGE_SLOTS = 16
LARGE_BYTES = MEMORY_MOST
#: The same for pinned memory that client and worker share; the most that a session can have.
PINNED_BASE = ADDRESS_BASE + LARGE_SLOTS * LARGE_BYTES + (SLOTS - LARGE_SLOTS) * ADDRESS_BYTES


def worker_command() -> list[str]:
    return [sys.executable, "-m", "jitc.proxy.worker"]


def _library_shared() -> Shared:
    return shared(executor_library())


@dataclass(frozen=True)
class ClusterOptions:
    """The cluster of which a service is a node. Addresses are HOST:PORT; the last five are for the store."""

    store: str  # its location (../cluster/locations.py)
    node: str  # name of this node
    peer_address: str  # at which the services of other nodes reach this one
    bridge_address: str  # the same of the bridge
    certificates: str  # folder of this node's certificate
    ca: str = ""
    certificate: str = ""
    key: str = ""
    user: str = ""
    password: str = field(default="", repr=False)


@dataclass(frozen=True)
class Config(ServiceOptions):
    """The configuration, fixed for the service's life: its options, and what tests and the machine determine."""

    socket: str
    users: str = ""  # whose programs are served, besides the service's own user's (../keeper/admission.py)
    admins: str = ""  # those of them who see and influence everybody's programs
    cluster: ClusterOptions | None = None  # None: jobs of this node alone
    node_number: int = 0  # in the cluster; 0: in none
    tenant: str = ""  # name of the folder of another user's workers; empty: of the service's own user
    worker_overhead: int | None = None  # bytes of a shared GPU that each worker has beside its share; None: measured
    address_bases: tuple[int, ...] = ADDRESS_BASES  # where sessions' ranges may begin, best first
    address_bytes: int = LARGE_BYTES  # of the largest range
    worker: list[str] = field(default_factory=worker_command)
    #: Bytes of the board, and of a communicator's segment for so many ranks.
    shared: Callable[[], Shared] = _library_shared

    def operator_threads(self) -> int:
        return self.threads or max(1, len(os.sched_getaffinity(0)) // max(1, self.gpus))

    def for_workers(self) -> dict[str, str]:
        """Returns the options for workers, as texts (protos/include/jitc/option_text.h)."""
        values = {name: getattr(self, name) for name in OF_WORKERS}
        return {name: str(int(value) if isinstance(value, bool) else value) for name, value in values.items()}

    @property
    def node(self) -> str:
        """Returns the name of this node; empty: the service is in no cluster."""
        return self.cluster.node if self.cluster is not None else ""

    @property
    def keeps_idle(self) -> bool:
        """Returns whether a worker waits on each GPU for the next program: not where it could be any user's."""
        return not self.users

    def private_directory(self) -> Path:
        """Returns the folder of the keeper's sockets, and of the lock that shows that the service is alive."""
        return Path(self.socket + ".d")

    def workers_directory(self) -> Path:
        """Returns the folder of the workers' sockets, in which their user may write."""
        return self.private_directory() / self.tenant

    def images_directory(self) -> Path:
        """Returns the folder of module images that programs have sent; removed with the service."""
        return self.workers_directory() / "images"
