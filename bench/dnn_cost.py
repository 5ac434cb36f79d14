"""Client-side cost of libraries' calls on the cuda device, against one small asynchronous call.

An execution of a plan of cuDNN is six calls (its variant pack is made around it), a batch normalization seven (so are
its descriptors), a product with a bias of cuBLASLt fifteen (so are its objects; the heuristic is asked once). The
libraries are the tests' stand-ins: the program waits for jitc's own work, not for theirs.
"""

from __future__ import annotations

import subprocess
import sys

from common import LIBRARIES, finish, interposed_program, parser, summary, workplace

GOAL_US = 5.0


def measure(rounds: int) -> dict[str, dict[str, float]]:
    from toolkit.fakes import fake_options, fake_system

    program = interposed_program("dnn_cost")
    libraries = fake_options("nccl", "cublas", "cublaslt", "nvrtc", "cudnn")
    with workplace("dnn_cost") as place:
        driver = place.folder / "driver"
        driver.mkdir()
        environment = fake_system(driver, place.env, DEVICES="1")
        service = place.service(1, ("--device", "cuda", *libraries), **environment)
        env = {**service.env, "LD_PRELOAD": str(LIBRARIES / "libjitc_interpose.so")}
        command = [str(program), str(rounds)]
        done = subprocess.run(command, env=env, check=True, capture_output=True, text=True, timeout=300)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {name: summary([int(value) / 1000 for value in values]) for name, *values in lines}


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=300)
    figures = measure((args := arguments.parse_args()).rounds)
    for name, one in figures.items():
        print(f"{name:<12} median {one['median']:9.2f} us   90 % {one['high']:9.2f} us")
    slowest = max(figures[name]["median"] for name in ("execute", "normalize", "multiply", "bias"))
    return finish(args, figures, {f"a library's call with its descriptors at most {GOAL_US} us": slowest <= GOAL_US})


if __name__ == "__main__":
    sys.exit(main())
