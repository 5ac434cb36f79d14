"""SIGHUP: the service reads its options again, and goes on with those that have changed.

Called by: serve.py. Another program takes the process's place (hand_over.py), which takes over the running jobs as
after a kill. Promises: options that are wrong, or that running jobs do not allow to change, are reported in one line,
and the service goes on as if nothing had been asked; a service on a terminal, or whose parent ignores the signal, does
not hear it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..options import CommandError
from .systemd import notify

if TYPE_CHECKING:
    from ...common.config import Config
    from ...service import Service

#: Reads the options again: the configuration, and the words that stand for it.
Reader = Callable[[], "tuple[Config, list[str]]"]


def hears() -> bool:
    """Returns whether SIGHUP asks this process to read its options again: on a terminal it means that that is gone."""
    on_terminal = any(os.isatty(one) for one in (0, 1, 2))
    return not on_terminal and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN


def changed(service: Service, words: list[str], read: Reader) -> list[str] | None:
    """Returns the words for the program that goes on, or None if this one does. words: its own."""
    found, why = _read_again(service, words, read)
    if why:
        print(f"jitc-proxyd: options stay as they are: {why}", file=sys.stderr, flush=True)
        return None
    print("jitc-proxyd: reloads its options", file=sys.stderr, flush=True)
    notify(f"WATCHDOG=1\nRELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")
    return found


def _read_again(service: Service, words: list[str], read: Reader) -> tuple[list[str], str]:
    """Returns the words as they are now, and why this service cannot go on with them."""
    try:
        config, found = read()
    except CommandError as error:
        return [], str(error)
    except SystemExit:  # a word of the command line is wrong by now, such as a folder that was removed
        return [], "the line above says why"
    if found == words:
        return [], "no option has changed"
    if config.socket != service.config.socket:
        return [], "the socket of a running service cannot change; stop it, and start it with the other one"
    return found, service.refuses(config)
