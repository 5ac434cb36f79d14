"""`jitc store`: PyTorch's store for torchrun's agents, in a process that belongs to no node of a job.

Called by: jitc.py. Promises: the port is taken before PyTorch is loaded, so a wrong --listen is said at once; the store
listens at that address alone, and sleeps until a node asks; SIGTERM and SIGINT end it, also while PyTorch is loaded.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
from errno import EADDRINUSE, EADDRNOTAVAIL
from typing import Any

from jitc.client_shim.native_parts import torch_build

from ..cluster.peers.names import Address, address
from .lifecycle.flag import Flag
from .options import CommandError, host_and_port
from .parser import examples

ENDING = (signal.SIGTERM, signal.SIGINT)
#: Connections that wait while PyTorch is loaded; the kernel may lower it.
WAITING = 4096
#: Between two looks at a signal that another thread than the first one has received.
SIGNAL_SECONDS = 1.0

_TEXT = """\
Serves PyTorch's store, in which the torchruns of several nodes meet,
on a machine that is no node of the job: it then outlives each of
them. The torchrun of the example runs on every node.

Several jobs may share a store if each has a --rdzv-id that was not
used there before. Whoever reaches the port can disturb the jobs, so
listen in the network of the nodes alone. The store serves until
SIGTERM or Ctrl-C, and what it knows ends with it."""


def add_store(commands: Any) -> None:
    """Adds `store`."""
    store = commands.add_parser(
        "store", help="serve PyTorch's store for jobs over several nodes", description=_TEXT,
        epilog=examples(
            "jitc store --listen 10.0.0.9:29400",
            "torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d \\",
            "    --rdzv-endpoint 10.0.0.9:29400 --rdzv-conf is_host=0 \\",
            "    --rdzv-id job1 train.py",
        ),
    )  # fmt: skip
    store.add_argument(
        "--listen", type=host_and_port, metavar="HOST:PORT", required=True,
        help="an address of this machine that the nodes reach; port 0: a free one",
    )  # fmt: skip
    store.set_defaults(act=_serve)


def _serve(arguments: argparse.Namespace) -> int:
    from .lifecycle.systemd import notify

    ended = _end_by_signals()
    if torch_build.installed() is None:
        raise CommandError("the store is PyTorch's, which is not installed here: pip install 'jitc[torch]'")
    with _listening(address(arguments.listen)) as listener:
        place = Address(*listener.getsockname()[:2])
        store = _store(listener, place)
    if not ended.is_set():
        print(f"jitc store ready: {place}", flush=True)
        notify("READY=1")
    while not ended.wait(SIGNAL_SECONDS):
        pass
    notify("STOPPING=1")
    del store  # closes its connections
    return 0


def _end_by_signals() -> Flag:
    """Returns what SIGTERM and SIGINT set; the latter does not where it is ignored, as in a script's background."""
    ended = Flag()
    for one in ENDING:
        if signal.getsignal(one) is not signal.SIG_IGN:
            signal.signal(one, lambda *_: ended.set())
    return ended


def _listening(place: Address) -> socket.socket:
    """Returns a socket that listens there. Raises CommandError."""
    try:
        family, kind, _, _, where = socket.getaddrinfo(
            place.host, place.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind)
        # A store that has just ended leaves connections that would keep the port for a minute.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen(WAITING)
    except socket.gaierror as error:
        raise CommandError(f"--listen: {place.host}: {error.strerror}; name an address of this machine") from None
    except OSError as error:
        raise CommandError(f"--listen: {place}: {_why(error, place)}") from None
    return listener


def _why(error: OSError, place: Address) -> str:
    if error.errno == EADDRNOTAVAIL:
        return "this machine has no such address; name one of its own that the nodes reach, or 0.0.0.0 for all of them"
    if error.errno == EADDRINUSE:
        return f"another program listens at port {place.port}, maybe another store; use that, or choose another port"
    return f"{error.strerror}; choose another address or port"


def _store(listener: socket.socket, place: Address) -> Any:
    """Returns PyTorch's store, which has taken the socket. Raises CommandError."""
    # By default the store warns, in two lines, where no name server knows the addresses of this machine.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    try:
        from torch.distributed import TCPStore  # type: ignore[attr-defined]  # it has no __all__
    except (ImportError, OSError) as error:  # a build without torch.distributed, or with a library that is missing
        raise CommandError(f"the PyTorch that is installed here has no store: {error}") from None
    descriptor = os.dup(listener.fileno())  # the store closes it
    try:
        return TCPStore(
            place.host, place.port, is_master=True, wait_for_workers=False, master_listen_fd=descriptor
        )  # fmt: skip
    except (RuntimeError, ValueError) as error:
        raise CommandError(f"PyTorch's store cannot serve {place}: {' '.join(str(error).split())}") from None
