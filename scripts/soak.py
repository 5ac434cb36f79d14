"""make soak: programs of the tests with hostile options of the service, again and again; see tests/soak/README.md."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from soak.command import main

if __name__ == "__main__":
    sys.exit(main())
