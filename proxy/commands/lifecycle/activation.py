"""Descriptors that systemd gives the service when it starts: the listening socket that it has made (socket activation:
programs may begin before the service does), and the memory that it holds for it (its descriptor store).

Called by: ../proxyd.py, serve.py (at the start), hand_over.py (another program takes the process's place, and needs the
socket). Promises: without systemd nothing happens; a socket that is not the service's is an error, so that nobody
listens to it in vain; the socket stays systemd's, with its name, mode and owner.
"""

from __future__ import annotations

import os
import socket

from ..options import USAGE, CommandError

#: Descriptors of systemd's begin here (sd_listen_fds(3)).
FIRST = 3
#: More than any unit of ours has.
_SOCKETS_MOST = 16
#: Names of descriptors in systemd's store begin so (systemd.py). Those of sockets are names of units.
STORED = "jitc/"


def given_socket(path: str) -> socket.socket | None:
    """Returns the listening socket at this path, as a descriptor of this process's own; None: systemd has given none.
    Raises CommandError."""
    given = _descriptors()
    if not given:
        return None
    places = []
    for descriptor in given:
        os.set_inheritable(descriptor, False)
        with socket.socket(fileno=os.dup(descriptor)) as one:
            if (place := _place(one)) == path:
                return one.dup()
            places.append(place or "something else")
    found = ", ".join(places)
    raise CommandError(
        f"systemd has given the service {found}, and its socket is {path}; name one in both units", USAGE
    )


def stored() -> dict[str, int]:
    """Returns the descriptors that systemd's store had for this service, by name; they are the caller's from now on.
    Sockets come before them, as systemd does it."""
    names = os.environ.get("LISTEN_FDNAMES", "").split(":")
    given = {}
    for descriptor, name in zip(_descriptors(most=len(names)), names, strict=False):
        if name.startswith(STORED):
            os.set_inheritable(descriptor, False)
            given[name.removeprefix(STORED)] = descriptor
    if given:
        os.environ["LISTEN_FDS"] = str(min(given.values()) - FIRST)
    return given


def check_respawn() -> None:
    """Raises CommandError if systemd has given a socket to a process that would start the service as another one."""
    if _descriptors():
        raise CommandError(
            "--respawn does not go with systemd's socket: systemd starts the service again itself", USAGE
        )


def pass_on() -> None:
    """Lets the program that takes this process's place have the sockets, too."""
    for descriptor in _descriptors():
        os.set_inheritable(descriptor, True)


def _descriptors(most: int = _SOCKETS_MOST) -> list[int]:
    count = os.environ.get("LISTEN_FDS", "")
    if os.environ.get("LISTEN_PID") != str(os.getpid()) or not (count.isascii() and count.isdigit()):
        return []
    return list(range(FIRST, FIRST + min(int(count), most)))


def _place(one: socket.socket) -> str:
    """Returns the path at which the socket listens; empty: it is none that the service could use."""
    try:
        listens = one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        name = one.getsockname()
    except OSError:
        return ""
    fits = one.family == socket.AF_UNIX and one.type == socket.SOCK_STREAM and listens
    return os.path.abspath(name) if fits and isinstance(name, str) and name else ""
