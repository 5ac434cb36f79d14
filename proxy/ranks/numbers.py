"""Numbers of sessions: unique in a cluster, since each has the number of the node on which it began.

Used by: the registry, which gives them; whatever must know a session's node. Pure. A service that is in no cluster has
the node number 0.
"""

from __future__ import annotations

#: A session's number has its node's above so many bits of its own, and fits into a JSON number.
SESSION_BITS = 32
NODE_MOST = (1 << 20) - 1


def first_session(node: int) -> int:
    """Returns the number below that of the first session of a node."""
    return node << SESSION_BITS


def node_of(session: int) -> int:
    """Returns the number of the node on which the session began."""
    return session >> SESSION_BITS
