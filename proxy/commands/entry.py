"""Where the commands `jitc` and `jitc-proxyd` begin: in an installation that lacks something, one line says what.

Called by: the scripts that pip makes, and `python -m jitc`. Promise: nothing but the standard library is imported here.
"""

from __future__ import annotations

import contextlib
import sys
from importlib import import_module

_PYTHON = (3, 10)


def jitc() -> int:
    return _begin("jitc")


def jitc_proxyd() -> int:
    return _begin("jitc-proxyd")


def _begin(command: str) -> int:
    if why := _unfit():
        print(f"{command}: {why}", file=sys.stderr, flush=True)
        return 1
    try:
        main = import_module(f"jitc.proxy.commands.{command.rpartition('-')[2]}").main
        return int(main())
    except Exception as error:
        if not _is_of_an_installation(error):
            raise
        print(f"{command}: jitc's installation is broken: {error}; {_remedy()}", file=sys.stderr, flush=True)
        return 1


def _unfit() -> str:
    """Returns why jitc cannot work on this system whatever is installed on it; empty if it can. Old Pythons, and other
    processors, get here where the installation of another system is looked at from a container."""
    with contextlib.suppress(ImportError):  # said later
        from ..common import paths

        try:
            paths.refuse_another_processor()
            paths.refuse_an_old_system()
        except paths.MissingLibrary as error:
            return str(error)
    python = ".".join(map(str, sys.version_info[:2]))
    return "" if sys.version_info >= _PYTHON else f"jitc needs Python 3.10 or newer, and this is {python}"


def _is_of_an_installation(error: Exception) -> bool:
    """Returns whether a package is missing, or is of a release that does not go with jitc's stubs."""
    return isinstance(error, ImportError) or type(error).__module__ == "google.protobuf.runtime_version"


def _remedy() -> str:
    try:
        from jitc.client_shim.native_parts.installation import remedy
    except ImportError:
        return "install it again: pip install --force-reinstall jitc"
    return remedy()
