"""Entry point of a worker process: `python -m jitc.proxy.worker --socket PATH --service PATH ...`.

Started by: jitc-proxyd only. The order matters: first tie this process's life to the service's, then load what is slow,
then listen, then report readiness on the pipe. Promise: a worker that has reported readiness is a warm spare.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from ..common import host_memory, operators, paths, rpc, standard_streams
from ..common.executor import Executor, Options
from ..keeper.worker_end import WorkerEnd
from .control import CoordinatorClient, WorkerControl
from .kept_memory import KeptMemory
from .layout import fix_layout
from .warm import load_operators

_PR_SET_PDEATHSIG = 1
#: How much likelier than others the kernel ends this process if there is no memory left (oom_score_adj): a worker can
#: be replaced; the keeper, the service and a program cannot.
LIKELIER = 500


def main() -> int:
    try:
        library, transport = paths.executor_library(), paths.transport_library()

        def load(with_operators: bool) -> str:
            for one in (library, transport):
                paths.opened(one)
            return load_operators(operators.library()) if with_operators else ""

        def make(options: Options, coordinator: CoordinatorClient) -> Executor:
            options["libraries"]["transport"] = str(transport)
            return Executor(library, options, coordinator)

        return serve(load, make)
    except paths.MissingLibrary as error:
        print(f"jitc worker: {error}", file=sys.stderr, flush=True)
        return 1


def serve(load: Callable[[bool], str], make: Callable[[Options, CoordinatorClient], Executor]) -> int:
    """Runs the worker. load: opens what is slow and returns the operators' path; make: makes the executor."""
    arguments = _parse()
    standard_streams.shield()
    if not _die_with(arguments.parent):
        return 0
    if arguments.fixed_layout and (why := fix_layout()):
        print(
            f"jitc-proxyd: a worker's memory may lie anywhere: {why}; a device variable whose address a program knows "
            "may end a recovery",
            file=sys.stderr,
        )
    _limit_dumps(arguments.core_limit)
    _be_the_first_to_go()
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    os.umask(0o077)  # libraries make folders under it, which must be enterable
    sys.setswitchinterval(0.0005)
    operators, op_socket = load(arguments.operators), paths.op_socket(arguments.socket)
    memory = KeptMemory(WorkerEnd(socket.socket(fileno=arguments.keeper_fd)).take)
    control = WorkerControl(make, operators, op_socket, CoordinatorClient(arguments.service, memory), memory)
    _server = rpc.serve(lambda server: None, arguments.socket, [control.handler()])
    try:
        os.write(arguments.ready_fd, f"ready {host_memory.kills_file()}\n".encode())
    except BrokenPipeError:
        return 0  # its service has ended, and the next one does not know of this worker
    os.close(arguments.ready_fd)
    threading.Event().wait()
    return 0


def _die_with(parent: int) -> bool:
    """Has the kernel kill this process when the service's supervisor ends. Returns False if that has ended already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    return os.getppid() == parent


def _limit_dumps(most: int) -> None:
    """Limits this process's core dumps; 0: it leaves none. The kernel takes one byte for that, even if it passes dumps
    to a program, which it also does with a limit of 0."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    soft = max(1, most)
    resource.setrlimit(resource.RLIMIT_CORE, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _be_the_first_to_go() -> None:
    file = Path("/proc/self/oom_score_adj")
    with contextlib.suppress(OSError, ValueError):  # a sandbox may forbid it; then the kernel goes by size alone
        file.write_text(str(max(LIKELIER, int(file.read_text()))))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="jitc.proxy.worker", description="A worker of jitc-proxyd.")
    parser.add_argument("--operators", action="store_true", help="load PyTorch's CPU kernels")
    parser.add_argument("--socket", required=True)
    parser.add_argument("--service", required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--ready-fd", type=int, required=True)
    parser.add_argument("--keeper-fd", type=int, required=True)
    parser.add_argument("--core-limit", type=int, default=0)
    parser.add_argument("--fixed-layout", action="store_true", help="have all mappings where other workers have them")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
