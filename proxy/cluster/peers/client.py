"""The links of this node to all other ones, and calls over them.

Called by: the service, which links the nodes that the store has; beats.py; what recovers jobs over nodes. Promises: a
node has one link, to the newest address and certificate that the store had of it; a call to a node without a link
fails at once; a certificate of this node that has been renewed is in the store before it is shown, and links stay open
meanwhile (a node whose view of the store is older refuses calls until it has the newer one).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import grpc

from jitc.v1 import peer_pb2

from ...common.rounds import Rounds
from .credentials import Credentials
from .link import Link, PeerError, Target

#: Nodes that have a link.
NODES_MOST = 1024
#: Between two looks at the certificate of this node.
REFRESH_SECONDS = 1.0


class Peers:
    """The table of links. renewed: puts the hash of a certificate that this node has from now on into the store."""

    def __init__(self, credentials: Credentials, renewed: Callable[[str], None] | None = None) -> None:
        self._credentials, self._renewed = credentials, renewed
        self._rounds = Rounds("jitc-peers", REFRESH_SECONDS, self.refresh)
        self._lock = threading.Lock()
        self._links: dict[str, Link] = {}
        self._hash = credentials.identity.hash
        self._closed = False

    def start(self) -> None:
        """Begins to look for another certificate."""
        self._rounds.start()

    @property
    def node(self) -> str:
        """Returns this node's name."""
        return self._credentials.identity.node

    def link(self, node: str, address: str, certificate_hash: str) -> None:
        """Links a node, or changes its link if the address or the certificate is another one: calls of the old link
        fail then. Raises ValueError if there are too many."""
        target = Target(node, address, certificate_hash)
        with self._lock:
            old = self._links.get(node)
            if self._closed or (old is not None and old.target == target):
                return
            if old is None and len(self._links) >= NODES_MOST:
                raise ValueError(f"{NODES_MOST} nodes are linked, and node {node} would be one more")
            self._links[node] = Link(target, self._credentials)
        if old is not None:
            old.close()

    def unlink(self, node: str) -> None:
        """Ends the link to a node; calls of it fail."""
        with self._lock:
            old = self._links.pop(node, None)
        if old is not None:
            old.close()

    def nodes(self) -> list[str]:
        """Returns the nodes that are linked."""
        with self._lock:
            return sorted(self._links)

    def ask(self, node: str, method: str, request: Any, seconds: float) -> Future[Any]:
        """Calls a node. The future has the answer, or raises PeerError, after this time at most; its callbacks must not
        wait. Raises ValueError for a method that the contract does not have."""
        with self._lock:
            link = self._links.get(node)
        if link is not None:
            return link.ask(method, request, seconds)
        failed: Future[Any] = Future()
        failed.set_exception(PeerError(node, grpc.StatusCode.UNAVAILABLE, "there is no link to it"))
        return failed

    def trouble(self, node: str) -> str:
        """Returns why a node's link cannot be opened; empty: it is open, or nobody has called the node yet."""
        with self._lock:
            link = self._links.get(node)
        return link.trouble if link is not None else f"node {node}: there is no link to it"

    def facts(self, node: str) -> peer_pb2.Facts | None:
        """Returns what a node has said of itself when its link was opened; None: it is not open."""
        with self._lock:
            link = self._links.get(node)
        return link.facts if link is not None else None

    def refresh(self) -> None:
        """Looks whether this node has another certificate by now, which all links then use. The thread calls it every
        REFRESH_SECONDS. Raises what `renewed` raises, and calls that again then."""
        self._credentials.look()
        now = self._credentials.identity.hash
        if now != self._hash and self._renewed is not None:
            self._renewed(now)
        self._hash = now
        with self._lock:
            links = list(self._links.values())
        for one in links:
            one.renew()

    def close(self) -> None:
        """Ends all links."""
        self._rounds.stop()
        with self._lock:
            self._closed = True
            links, self._links = list(self._links.values()), {}
        for one in links:
            one.close()
