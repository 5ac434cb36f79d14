"""Whether a process listens on a socket.

Called by: socket_lock.py (dead), workers, a service that has stood by (alive). Promise: where that cannot be seen, the
answer is the one that takes nothing away from anybody.
"""

from __future__ import annotations

import socket


def dead(path: str) -> bool:
    """Returns whether no process listens on the socket any more. False if in doubt."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except (ConnectionRefusedError, FileNotFoundError):
            return True
        except OSError:
            return False
    return False


def alive(path: str) -> bool:
    """Returns whether a worker listens there, as far as can be seen."""
    try:
        probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    except OSError:  # no descriptor is left to ask with
        return True
    with probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except (TimeoutError, BlockingIOError):  # it does not take those that wait already: it is stopped
            return True
        except OSError:
            return False
    return True
