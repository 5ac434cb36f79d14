"""jitc-proxyd with stand-in workers; everything else is the real command."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

from jitc.proxy import proxyd
from jitc.proxy.executor import Shared
from jitc.proxy.node import config

config.Config = functools.partial(  # type: ignore[assignment, misc]
    config.Config,
    worker=[sys.executable, str(Path(__file__).with_name("standin.py"))],
    shared=lambda: Shared(4096, lambda ranks: 4096 * ranks, lambda board, slot: None),
    snapshot_bytes=1 << 20,
)

if __name__ == "__main__":
    sys.exit(proxyd.main())
