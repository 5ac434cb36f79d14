"""make gpu-check: what jitc does on this machine's GPU, step by step, into docs/gpu-results/<date>-<gpu>.json.

Needs Python 3.10 or newer with torch (CUDA), grpcio, protobuf and nvidia-ml-py, and jitc: installed, or in the folder
that `make gpu-bundle` makes, where this script lies too. No network, no compiler. The steps are in tests/gpu (gpu
there), whose README says more; `--help` has the options. What is missing, a GPU too, is recorded as what it is.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE if (HERE / "gpu").is_dir() else HERE.parent / "tests"))

from gpu.check import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
