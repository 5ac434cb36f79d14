"""Client-side cost of an asynchronous and a synchronous CUDA call, against a bare gRPC stream round trip.

The loop is C++ (native/call_cost.cpp): an asynchronous call is too short to be timed from Python.
"""

from __future__ import annotations

import subprocess
import sys

from common import LIBRARIES, ROOT, finish, interposed_program, parser, summary, workplace

ASYNC_GOAL_US, QUERY_GOAL_US, SYNC_GOAL = 2.0, 1.0, 1.5


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=500)
    args = arguments.parse_args()
    program = interposed_program("call_cost")
    with workplace("call_cost") as place:
        service = place.service(1)
        socket = place.folder / "echo.sock"
        echo = subprocess.Popen(
            [sys.executable, str(ROOT / "bench" / "echo_server.py"), str(socket)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=place.env,
        )  # fmt: skip
        assert echo.stdin is not None
        assert echo.stdout is not None
        try:
            echo.stdout.readline()
            env = {**service.env, "LD_PRELOAD": str(LIBRARIES / "libjitc_interpose.so")}
            command = [str(program), str(args.rounds), str(LIBRARIES / "libjitc_transport.so"), str(socket)]
            done = subprocess.run(command, env=env, check=True, capture_output=True, text=True, timeout=300)
        finally:
            echo.stdin.close()
            echo.wait(10)
            echo.stdout.close()
    figures = {}
    for line in done.stdout.splitlines():
        name, *values = line.split(",")
        figures[name] = summary([int(value) / 1000 for value in values])
        print(f"{name:<12} median {figures[name]['median']:9.2f} us   90 % {figures[name]['high']:9.2f} us")
    slowest = max(figures[name]["median"] for name in ("memset", "copy", "record", "wait event"))
    queries = max(figures[name]["median"] for name in ("query", "query stream"))
    ratio = max(figures[name]["median"] for name in ("read", "synchronize")) / figures["echo"]["median"]
    print(f"synchronous call / bare round trip = {ratio:.3f}; slowest asynchronous call {slowest:.2f} us")
    print(f"query of what is done {queries:.3f} us")
    met = {
        f"asynchronous call at most {ASYNC_GOAL_US} us": slowest <= ASYNC_GOAL_US,
        f"query of what is done at most {QUERY_GOAL_US} us": queries <= QUERY_GOAL_US,
        f"synchronous call at most {SYNC_GOAL} times a bare round trip": ratio <= SYNC_GOAL,
    }
    return finish(args, {**figures, "ratio": ratio}, met)


if __name__ == "__main__":
    sys.exit(main())
