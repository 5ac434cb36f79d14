"""Entry point of a bridge process: `python -m jitc.proxy.bridge --socket PATH --listen HOST:PORT ...`.

Started by: jitc-proxyd only, as a child of jitc-keeper. The process ends with the keeper. Promise: one that has
reported readiness is at its address, and serves its socket.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import os
import signal
import socket
import sys
import threading
from pathlib import Path

import grpc

from ..cluster.peers.credentials import Credentials
from ..cluster.peers.identity import CredentialsError
from ..cluster.peers.link import Target, open_channel
from ..cluster.peers.server import CannotListen, PeerServer
from ..common import paths, rpc, standard_streams
from ..keeper import names
from ..keeper.worker_end import NoMemory, WorkerEnd
from .control import PEERS_MOST, Control
from .library import Bridge
from .outgoing import Outgoing, Peer

_PR_SET_PDEATHSIG = 1


def main() -> int:
    arguments = _parse()
    standard_streams.shield()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != arguments.parent:
        return 0
    faulthandler.enable()
    os.umask(0o077)
    try:
        return serve(arguments)
    except (paths.MissingLibrary, CredentialsError, CannotListen, NoMemory) as error:
        print(f"jitc-bridge: {error}", file=sys.stderr, flush=True)
        return 1


def serve(arguments: argparse.Namespace) -> int:
    """Serves until the keeper ends. Raises MissingLibrary, CredentialsError, CannotListen, NoMemory."""
    keeper = WorkerEnd(socket.socket(fileno=arguments.keeper_fd))
    credentials = Credentials(Path(arguments.certificates), arguments.node)
    mirror = _mirror(keeper)

    def connect(peer: Peer) -> Outgoing:
        return Outgoing(peer, arguments.node, mirror, lambda other: _channel(other, credentials))

    def take(identity: int) -> int:
        name = names.of_communicator(identity)
        return keeper.take([name]).get(name, -1)

    control = Control(mirror, arguments.device, take, connect)
    _streams = PeerServer(
        arguments.listen, credentials, control.known, lambda server: rpc.add_frames(control.incoming, server),
        threads=PEERS_MOST,
    )  # fmt: skip
    _server = rpc.serve(lambda server: rpc.add_bridge(control, server), arguments.socket)
    with contextlib.suppress(BrokenPipeError):  # its service has ended; the next one begins another bridge
        os.write(arguments.ready_fd, b"ready\n")
    os.close(arguments.ready_fd)
    threading.Event().wait()
    return 0


def _mirror(keeper: WorkerEnd) -> Bridge:
    board = keeper.take([names.BOARD]).get(names.BOARD, -1)
    if board < 0:
        raise NoMemory("jitc-keeper has no board")
    try:
        return Bridge(paths.executor_library(), f"/proc/self/fd/{board}")
    finally:
        os.close(board)


def _channel(peer: Peer, credentials: Credentials) -> grpc.Channel:
    credentials.look()
    return open_channel(Target(peer.node, peer.address, peer.certificate), credentials)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="jitc.proxy.bridge", description="The bridge of a node, for jitc-proxyd.")
    parser.add_argument("--socket", required=True)
    parser.add_argument("--listen", required=True, metavar="HOST:PORT")
    parser.add_argument("--node", required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--certificates", required=True, metavar="FOLDER")
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--ready-fd", type=int, required=True)
    parser.add_argument("--keeper-fd", type=int, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
