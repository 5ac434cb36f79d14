"""Where the commands `jitc` and `jitc-proxyd` begin: in an installation that lacks something, one line says what.

Called by: the scripts that pip makes, and `python -m jitc`. Promise: nothing but the standard library is imported here.
"""

from __future__ import annotations

import sys
from importlib import import_module


def jitc() -> int:
    return _begin("jitc")


def jitc_proxyd() -> int:
    return _begin("jitc-proxyd")


def _begin(command: str) -> int:
    try:
        main = import_module(f"jitc.proxy.commands.{command.rpartition('-')[2]}").main
        return int(main())
    except Exception as error:
        if not _is_of_an_installation(error):
            raise
        print(f"{command}: jitc's installation is broken: {error}; {_remedy()}", file=sys.stderr, flush=True)
        return 1


def _is_of_an_installation(error: Exception) -> bool:
    """Returns whether a package is missing, or is of a release that does not go with jitc's stubs."""
    return isinstance(error, ImportError) or type(error).__module__ == "google.protobuf.runtime_version"


def _remedy() -> str:
    try:
        from jitc.client_shim.native_parts.installation import remedy
    except ImportError:
        return "install it again: pip install --force-reinstall jitc"
    return remedy()
