"""jitc-proxyd with stand-in workers; everything else is the real command."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))  # of the toolkit
from standin_client import structures

from jitc.proxy.commands import proxyd
from jitc.proxy.common import config

config.Config = functools.partial(  # type: ignore[assignment, misc]
    config.Config,
    worker=[sys.executable, str(Path(__file__).with_name("standin.py"))],
    shared=structures,
    snapshot_bytes=1 << 20,
)

if __name__ == "__main__":
    sys.exit(proxyd.main())
