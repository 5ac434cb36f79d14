"""make gpu-check: what jitc does on this machine's GPU, step by step, into docs/gpu-results/<date>-<gpu>.json.

Needs Python 3.10 or newer with torch (CUDA), grpcio, protobuf and nvidia-ml-py, and jitc: installed, or in the folder
that `make gpu-bundle` makes and that this script lies in too. It needs no network and no compiler. The steps are in
tests/gpu (`gpu` in that folder), described in its README; `--help` lists the options. Anything missing, also a GPU, is
recorded as missing.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE if (HERE / "gpu").is_dir() else HERE.parent / "tests"))

from gpu.check import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
