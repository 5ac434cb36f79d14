"""Opens the engine for a location.

Called by: the service, commands that look at a cluster. Promises: an engine is there at once, also if its store is not;
etcd's stubs are loaded for etcd alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from .clock import BootClock, Clock
from .engine import Engine
from .locations import Options, check_options, parse_location

NO_OPTIONS = Options()


def report_line(text: str) -> None:
    print(f"jitc-proxyd: {text}", file=sys.stderr, flush=True)


def open_engine(
    location: str,
    options: Options = NO_OPTIONS,
    clock: Clock | None = None,
    report: Callable[[str], None] = report_line,
) -> Engine:
    """Returns an engine; report: receives what an operator must know, such as that the store was wiped.

    Raises ValueError if location or options are wrong, or a file cannot be read.
    """
    addresses = parse_location(location)
    check_options(options)
    clock = clock or BootClock()
    if addresses:
        from .engines.etcd.engine import EtcdEngine

        return EtcdEngine(addresses, options, clock, report)
    from .engines.local import Dictionary, LocalEngine

    return LocalEngine(Dictionary(clock))
