"""python -m mutants, from tests/: the command of `make mutants`."""

from __future__ import annotations

import sys

from .command import main

sys.exit(main())
