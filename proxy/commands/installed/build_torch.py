"""`jitc build-torch`: builds the native part for the PyTorch that is here before a program needs it.

Called by: ../jitc.py, for images and for nodes without a compiler. Promise: where everybody's installation may be
written, it lies there and serves all users; else it is this user's.
"""

from __future__ import annotations

import argparse
import os

from jitc.client_shim.native_parts import installation, supply, torch_build
from jitc.client_shim.native_parts.store import Store

from ..options import CommandError


def run(arguments: argparse.Namespace) -> int:
    if installation.is_checkout():
        raise CommandError(f"{installation.PACKAGES} is a checkout: `make build` builds its native parts")
    torch = torch_build.installed()
    if torch is None:
        raise CommandError("PyTorch is not installed here: pip install 'jitc[torch]'")
    try:
        place = supply.find(torch) or supply.build(torch, _store(arguments.user))
    except (supply.CannotBuild, supply.UnsafeStore) as error:
        raise CommandError(str(error)) from None
    print(place)
    return 0


def _store(users: bool) -> Store:
    everybodys = supply.of_the_package()
    parent = everybodys.folder if everybodys.folder.exists() else everybodys.folder.parent.parent
    return supply.of_the_user() if users or not os.access(parent, os.W_OK) else everybodys
