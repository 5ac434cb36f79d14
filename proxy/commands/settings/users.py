"""The options for several users, checked together and with what this process may do.

Called by: proxyd.py. Promise: a service that could not serve the users does not start, and says what it lacks.
"""

from __future__ import annotations

import argparse
import os

from ...keeper.claim.socket_lock import PATH_LIMIT, USER_BYTES
from ..options import USAGE, CommandError
from .resolve import called


def check_users(arguments: argparse.Namespace, socket: str) -> None:
    """Raises CommandError. socket: the service's."""
    if not arguments.users:
        if arguments.admins:
            raise _wrong(arguments, "admins", "goes with --users: without it everybody is one user")
        return
    if os.geteuid() != 0:
        needs = "needs root, since workers run as the users whose programs they serve"
        raise _wrong(arguments, "users", f"{needs}; start jitc-proxyd as root, or without it for your own programs")
    if len(os.fsencode(socket)) > (most := PATH_LIMIT - USER_BYTES):
        raise _wrong(arguments, "users", f"leaves the socket's path {most} bytes: {socket}; choose a shorter one")
    from ...keeper.privileges import lacking

    if missing := lacking():
        remedy = "give them to the container, or to the unit (docker/jitc-proxyd-users.conf)"
        raise _wrong(arguments, "users", f"needs {', '.join(missing)}, which this process lacks; {remedy}")


def _wrong(arguments: argparse.Namespace, name: str, why: str) -> CommandError:
    return CommandError(f"{called(arguments, name)} {why}", USAGE)
