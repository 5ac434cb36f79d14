"""A program in place of a bridge: it begins, or does not, as its first word says, and answers with its number.

Started by: test_bridge_process.py, through a keeper.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from typing import Any

import grpc

from jitc.proxy.common import rpc
from jitc.v1 import bridge_pb2

#: The node at whose name it dies.
DEATH = "death"


class Answers:
    """The service `Bridge`."""

    def Traffic(self, request: Any, context: Any) -> Any:
        return bridge_pb2.TrafficReply(json=json.dumps(os.getpid()))

    def Unlink(self, request: Any, context: Any) -> Any:
        rpc.refuse(context, grpc.StatusCode.FAILED_PRECONDITION, "no such link\nhere")

    def SetPeers(self, request: Any, context: Any) -> Any:
        if any(one.node == DEATH for one in request.peers):
            os.kill(os.getpid(), signal.SIGKILL)
        return bridge_pb2.BridgeReply()

    def Mirror(self, request: Any, context: Any) -> Any:
        return bridge_pb2.BridgeReply()

    Link = Mirror


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("how")
    for name in ("socket", "parent", "ready-fd", "keeper-fd"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    assert int(arguments.parent) == os.getppid()
    if arguments.how == "ends":
        sys.exit(1)
    if arguments.how == "serves":
        _server = rpc.serve(lambda server: rpc.add_bridge(Answers(), server), arguments.socket)
        os.write(int(arguments.ready_fd), b"ready\n")
    signal.pause()


if __name__ == "__main__":
    main()
