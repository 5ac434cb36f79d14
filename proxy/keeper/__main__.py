"""Entry point of the keeper: `python -m jitc.proxy.keeper --socket PATH ...`.

Started by: a jitc-proxyd that finds none on its socket (client.py). The descriptors that it receives are the claim on
the socket (the private folder and the one above it), the listening sockets for services and for training processes, and
the connection to the service that starts it.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from pathlib import Path

from ..common import standard_streams
from . import protocol
from .claim.socket_lock import SocketLock
from .process.server import Keeper


def main() -> int:
    parser = argparse.ArgumentParser(prog="jitc-keeper", description="Holds what must outlive a jitc-proxyd.")
    parser.add_argument("--socket", required=True)
    parser.add_argument("--directory", required=True, type=Path)
    parser.add_argument("--given", action="store_true", help="the socket is systemd's, and stays")
    for name in ("parent", "folder", "listener", "programs", "connection"):
        parser.add_argument(f"--{name}", required=True, type=int)
    given = parser.parse_args()
    standard_streams.shield()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.umask(0o077)
    lock = SocketLock(given.socket, given.directory, given.given)
    lock.adopt(given.parent, given.folder)
    listener, programs, first = (
        socket.socket(fileno=one) for one in (given.listener, given.programs, given.connection)
    )
    listener.listen(protocol.WAITING)  # again: the kernel now names this process to whoever connects
    Keeper(listener, programs, first, lock).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
