"""python -m soak, from tests/: the command of `make soak`."""

from __future__ import annotations

import sys

from .command import main

sys.exit(main())
