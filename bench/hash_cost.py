"""The content hash on the host, one thread: with and without AVX2, against XXH3 (128 bit) on the same bytes.

On a GPU the GPU itself computes this hash; `make gpu-check` measures that.
"""

from __future__ import annotations

import subprocess
import sys

from common import ROOT, finish, parser, summary

LARGEST = "268435456"


def measure(rounds: int) -> dict[str, dict[str, float]]:
    native = ROOT / "proxy" / "native"
    program = ROOT / "build" / "bench" / "hash_cost"
    program.parent.mkdir(parents=True, exist_ok=True)
    hashes = [native / "base" / "content_hash.cpp", native / "base" / "checksum.cpp"]
    sources = [ROOT / "bench" / "native" / "hash_cost.cpp", *hashes]
    # As the executor is built (RelWithDebInfo).
    subprocess.run(["g++", "-std=c++20", "-O2", "-fPIC", f"-I{native}", *sources, "-o", program], check=True)
    done = subprocess.run([program, str(rounds)], check=True, capture_output=True, text=True, timeout=300)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {f"{kind}_{size}": summary([float(value) for value in values]) for kind, size, *values in lines}


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=9)
    args = arguments.parse_args()
    figures = measure(args.rounds)
    for name, one in figures.items():
        kind, size = name.split("_")
        print(f"{kind:<9} blocks of {int(size):>10} bytes: {one['median'] / 1000:6.1f} GB/s")
    ratio = figures[f"content_{LARGEST}"]["median"] / figures[f"xxh3_{LARGEST}"]["median"]
    return finish(args, {**figures, "ratio": ratio}, {f"not slower than XXH3 ({ratio:.2f} times)": ratio >= 1})


if __name__ == "__main__":
    sys.exit(main())
