"""make gpu-check: what jitc does on this machine's GPU, step by step, into docs/gpu-results/<date>-<gpu>.json.

Needs an NVIDIA GPU, Python 3.10 or newer with torch (CUDA), grpcio, protobuf and nvidia-ml-py, and jitc: installed, or
in the folder that `make gpu-bundle` makes, where this script lies too. No network, no compiler. A step that fails is
recorded and the others still run; each has a time limit, and all together have one.

--rehearse runs the same on the software device with a tiny model: the checks are checked, no GPU is.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
ROOT = HERE if (HERE / "bench").is_dir() else HERE.parent
sys.path.insert(0, str(ROOT / "bench"))
if TYPE_CHECKING:
    from gpu_lab import Lab
    from gpu_report import Results


def main() -> int:
    arguments = _parser().parse_args()
    from gpu_lab import Lab
    from gpu_report import Results, table

    if not arguments.rehearse and (why := no_gpu()):
        print(f"gpu-check: {why}", file=sys.stderr)
        return 1
    folder = ROOT / ("build/gpu-rehearsal" if arguments.rehearse else "docs/gpu-results")
    results = Results(arguments.out, folder, arguments.rehearse, _commit())
    with tempfile.TemporaryDirectory(prefix="jitc-gpu-") as logs:
        lab = Lab(Path(logs), "software" if arguments.rehearse else "cuda", tuple(arguments.service))
        run(lab, results, set(arguments.only or []), arguments.minutes * 60)
    print(table(results.document))
    print(f"written: {results.path}")
    return 0 if results.passed() else 1


def run(lab: Lab, results: Results, only: set[str], seconds: float) -> None:
    """All steps, as far as the time reaches."""
    from gpu_lab import StepSkipped
    from gpu_steps import STEPS

    end = time.monotonic() + seconds
    wanted = [(step, limit) for step, limit in STEPS if not only or step.__name__ in only]
    for step, limit in wanted:
        name, begin = step.__name__, time.monotonic()
        error, skipped, data = "", "", {}
        print(f"gpu-check: {name}", file=sys.stderr, flush=True)
        try:
            with lab.step(min(limit, end - begin)):
                data = step(lab)
        except StepSkipped as reason:
            skipped = str(reason)
        except Exception as caught:  # whatever it was: recorded, and the next one runs
            error, data = str(caught) or type(caught).__name__, getattr(caught, "data", {})
            if not hasattr(caught, "data"):
                traceback.print_exc()
        results.add(name, time.monotonic() - begin, error, data, skipped)
        results.write(lab.refused)
    results.write(lab.refused, complete=True)


def no_gpu() -> str:
    """Why there is nothing to check; empty when there is."""
    from gpu_lab import import_path

    sys.path[:0] = [one for one in import_path() if one not in sys.path]
    try:
        from jitc.proxy.backends import open_backend
        from jitc.proxy.backends.base import NoDevice
        from jitc.proxy.node.config import Config
    except ImportError as error:
        return f"jitc is not here ({error}); run `make build`, or the script in the folder that `make gpu-bundle` makes"
    try:
        open_backend(Config(socket="", device="cuda"))
    except NoDevice as error:
        return f"the cuda back end is there, but no GPU was found: {error}"
    return ""


def _commit() -> str:
    carried = ROOT / "COMMIT"
    if carried.exists():
        return carried.read_text().strip()
    import subprocess

    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write (docs/gpu-results/<date>-<gpu>.json)")
    parser.add_argument("--only", action="append", metavar="STEP", help="this step (more than once for more)")
    parser.add_argument("--minutes", type=float, default=9.0, help="for all steps together (%(default)s)")
    parser.add_argument("--rehearse", action="store_true", help="on the software device, with a tiny model")
    parser.add_argument(
        "--service", action="append", default=[], metavar="OPTION",
        help="an option for every jitc-proxyd (--service=--nccl=PATH)",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
