"""`jitc version`: what is installed here. Called by: ../jitc.py, ../parser.py. Promise: PyTorch is not imported."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from typing import Any

from jitc.client_shim.native_parts import installation, supply, torch_build

from ...common import paths
from ..options import CommandError


def line() -> str:
    """Returns the line of `jitc version`. Raises CommandError."""
    return f"jitc {_number()} (protocol {paths.PROTOCOL_VERSION})"


def document() -> dict[str, Any]:
    """Returns the document of `jitc version --json`. Raises CommandError."""
    from ...keeper.protocol import VERSION as KEEPER_VERSION
    from ...status.documents import document as as_json
    from ...status.version import Version

    torch = torch_build.installed()
    return as_json(
        Version(
            version=_number(),
            protocol=paths.PROTOCOL_VERSION,
            worker=paths.WORKER_VERSION,
            keeper=KEEPER_VERSION,
            board=paths.BOARD_VERSION,
            journal=paths.JOURNAL_VERSION,
            python=platform.python_version(),
            libc=os.confstr("CS_GNU_LIBC_VERSION") or "",
            torch=torch.version if torch is not None else None,
            native_part=_native_part(torch),
        )
    )


def _number() -> str:
    try:
        return installed("jitc")
    except PackageNotFoundError:
        raise CommandError(f"jitc is not installed; {installation.remedy()}") from None


def _native_part(torch: torch_build.TorchBuild | None) -> str | None:
    if torch is None:
        return None
    try:
        own = installation.PACKAGES / "client_shim" / "lib"
        part = own if (own / "libjitc_torch.so").exists() else supply.find(torch)
    except (supply.CannotBuild, supply.UnsafeStore):
        return None
    return str(part) if part is not None else None
